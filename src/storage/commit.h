// File: commit.h
// The lock that keeps two writers apart, and what an output needs of its folder.
#pragma once

#include <future>
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

// Throws what FileLock would where another process has the lock; makes no file.
void require_unlocked(const std::string& output);
// SHA-256 of the bytes of a file now; unlike sha256_of_file, nothing is remembered. Computed beside
// what else is done, and the file may be renamed meanwhile.
std::future<std::string> hash_of_file(const std::string& path);
// Fails (exit 3) if `path` is in the way, its folder is missing or cannot be written to.
void require_writable_folder(const std::string& path);

}  // namespace attnscope::storage_detail
