// File: file.h
// Reading regular files with checks, and writing small files atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

// An open regular file, read with pread only. A file cut while it is read gives an error, where a
// mapping would give SIGBUS.
class InputFile {
 public:
  // Throws (exit 2) if `path` does not exist, cannot be read or is not a regular file (FIFO,
  // device, folder, dangling link). `code` is the error code to use.
  InputFile(std::string path, std::string code);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  // Identity of the file's content for a cache of hashes.
  std::string identity() const;  // "device:inode:size:mtime_ns"
  // Fills `out` with `bytes` bytes from `offset`; a short read is an error.
  void read(std::uint64_t offset, void* out, std::size_t bytes) const;

 private:
  std::string path_;
  std::string code_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// The whole file; a file above `max_bytes` is an error (exit 4).
std::string read_text_file(const std::string& path, const std::string& code,
                           std::uint64_t max_bytes);

// Whether the file must already be absent.
enum class WriteMode { create, replace };

// Writes under a temporary name in the same folder, syncs file and folder, renames. With
// WriteMode::create an existing `path` is an error (exit 3). Errors name `path`.
void write_file_atomically(const std::string& path, std::string_view content, WriteMode mode);

// To be asked before long work: throws (exit 3) what write_file_atomically would because of a file
// that exists or of a folder that is absent or takes no files.
void check_can_write(const std::string& path, WriteMode mode);

// Throws OU02 (exit 3) that says why no file could be made at `path`, which gave the errno `error`.
[[noreturn]] void fail_to_create(const std::string& path, int error);

// Throws OU02 (exit 3): `path` is there already and is kept.
[[noreturn]] void fail_because_it_exists(const std::string& path);

// Throws (exit 2) if `output` is one of `inputs`, by this or another name: --force must not cost
// the user what the command was about to read.
void check_output_is_no_input(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace attnscope
