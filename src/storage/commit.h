// File: commit.h
// The steps that make a written file permanent, and the lock that keeps two writers apart.
#pragma once

#include <string>

#include "attnscope/storage/output.h"

namespace attnscope::storage_detail {

// A flock on OUT.h5.lock, held while this lives. The file holds the holder's process number.
class FileLock {
 public:
  // Throws (exit 3), naming the holder, if another process has it. Errors name `output`.
  explicit FileLock(const std::string& output);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  std::string path_;
  int fd_ = -1;
};

enum class Replace : std::uint8_t { never, allowed };

// fsync of the file, its final name, fsync of the folder. A failed sync removes the file: its pages
// may already be dropped, so that a second try would succeed without the data being there.
void commit_file(const std::string& temporary, const std::string& final_path, Replace replace);

void sync_folder(const std::string& folder);
std::string folder_of(const std::string& path);
// SHA-256 of the bytes on disk now; unlike sha256_of_file, nothing is remembered.
std::string hash_of_file(const std::string& path);
// Fails (exit 3) if `path` is in the way, its folder is missing or cannot be written to.
void require_writable_folder(const std::string& path);

}  // namespace attnscope::storage_detail
