#include "commit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::storage_detail {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int error,
                       const std::string& next = "") {
  throw Error(ErrorKind::output, "OU11",
              {.where = escape_untrusted(path, 4096),
               .what = what + (error != 0 ? std::string(": ") + std::strerror(error) : ""),
               .next = next});
}

std::string holder_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t n = ::pread(fd, text.data(), text.size() - 1, 0);
  const auto pid = parse_integer(trim({text.data(), static_cast<std::size_t>(n > 0 ? n : 0)}));
  return pid ? "process " + std::to_string(*pid) : "another process";
}

bool same_file(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(const std::string& output) : path_(output + ".lock") {
  // The holder removes the file when it is done; a lock on a removed file guards nothing, so the
  // name is looked at again after the lock is taken.
  for (;;) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd_ < 0) fail_to_create(output, errno);
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = holder_of(fd_);
      ::close(std::exchange(fd_, -1));
      if (error != EWOULDBLOCK) {
        fail(output, "cannot lock", error, "write to a folder on a local disk");
      }
      fail(output, "the output is being written by " + holder, 0,
           "wait for it or choose another -o");
    }
    if (same_file(fd_, path_)) break;
    ::close(std::exchange(fd_, -1));
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd_, 0) != 0 ||
      ::pwrite(fd_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    const int error = errno;
    ::unlink(path_.c_str());
    ::close(std::exchange(fd_, -1));
    fail(output, "cannot write the lock file", error);
  }
}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

void commit_file(const std::string& temporary, const std::string& final_path, Replace replace) {
  const int fd = ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(temporary, "cannot open for syncing", errno);
  const int synced = ::fsync(fd);
  const int sync_error = errno;
  ::close(fd);
  if (synced != 0) {
    ::unlink(temporary.c_str());
    fail(final_path, "cannot sync to disk", sync_error, "check the disk, then run with --resume");
  }
  // link() fails when the name exists, rename() replaces it.
  const bool keep = replace == Replace::never;
  const int status = keep ? ::link(temporary.c_str(), final_path.c_str())
                          : ::rename(temporary.c_str(), final_path.c_str());
  const int error = errno;
  if (keep || status != 0) ::unlink(temporary.c_str());
  if (status != 0) fail(final_path, "cannot give the file its name", error);
  sync_folder(folder_of(final_path));
}

void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(folder, "cannot open the folder", errno);
  const int status = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some file systems cannot sync folders and say so.
  if (status != 0 && error != EINVAL && error != ENOTSUP) fail(folder, "cannot sync", error);
}

std::string folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string hash_of_file(const std::string& path) {
  const InputFile file(path, "OU16");
  Sha256 hash;
  std::vector<char> block(4U << 20U);
  for (std::uint64_t at = 0; at < file.size(); at += block.size()) {
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), file.size() - at));
    file.read(at, block.data(), bytes);
    hash.update(block.data(), bytes);
  }
  return hash.finish();
}

void require_writable_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) fail_to_create(path, errno);
  if (!S_ISDIR(info.st_mode)) fail_to_create(path, ENOTDIR);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail_to_create(path, errno);
  if (std::filesystem::path(path).filename().empty()) {
    fail(path, "the output needs a file name", 0);
  }
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    fail(path, "the output exists and is not a regular file", 0);
  }
}

}  // namespace attnscope::storage_detail

namespace attnscope {

std::string sidecar_path(const std::string& path) {
  std::filesystem::path out(path);
  out.replace_extension(".json");
  return out.string();
}

std::uint64_t free_bytes(const std::string& path) {
  struct statvfs info {};
  const std::string folder = storage_detail::folder_of(path);
  if (::statvfs(folder.c_str(), &info) != 0) fail_to_create(path, errno);
  // A file system without a size (/proc, an unlimited tmpfs) does not say what it can take.
  if (info.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace attnscope
