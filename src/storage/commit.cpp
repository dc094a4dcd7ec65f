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
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "attnscope/support/commit.h"
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

// Closes what it was given.
struct OpenFile {
  explicit OpenFile(int descriptor) : fd(descriptor) {}
  ~OpenFile() { ::close(fd); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd;
};

// A lock on `fd` was refused with the errno `error`.
[[noreturn]] void fail_to_lock(const std::string& output, int fd, int error) {
  if (error != EWOULDBLOCK) {
    fail(output, "cannot lock", error, "write to a folder on a local disk");
  }
  fail(output, "the output is being written by " + holder_of(fd), 0,
       "wait for it or choose another -o");
}

std::string lock_path(const std::string& output) {
  return output + ".lock";
}

bool same_file(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

void require_unlocked(const std::string& output) {
  const int fd = ::open(lock_path(output).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT) return;
  if (fd < 0) fail_to_create(output, errno);
  const OpenFile file(fd);
  // Shared, so that two that only look are not in each other's way.
  if (::flock(file.fd, LOCK_SH | LOCK_NB) != 0) fail_to_lock(output, file.fd, errno);
}

FileLock::FileLock(const std::string& output) : path_(lock_path(output)) {
  // The holder removes the file when it is done; a lock on a removed file guards nothing, so the
  // name is looked at again after the lock is taken.
  for (;;) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd_ < 0) fail_to_create(output, errno);
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const OpenFile file(std::exchange(fd_, -1));
      fail_to_lock(output, file.fd, error);
    }
    if (same_file(fd_, path_)) break;
    ::close(std::exchange(fd_, -1));
  }
  // Only for the message that names the holder: the lock holds without it.
  const std::string pid = std::to_string(::getpid()) + "\n";
  const bool written = ::ftruncate(fd_, 0) == 0 &&
                       ::pwrite(fd_, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  if (!written) static_cast<void>(::ftruncate(fd_, 0) == 0);
}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

namespace {

std::string hash_of(const InputFile& file) {
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

}  // namespace

std::future<std::string> hash_of_file(const std::string& path) {
  auto file = std::make_shared<const InputFile>(path, "OU16");
  const auto hash = [file = std::move(file)] { return hash_of(*file); };
  try {
    return std::async(std::launch::async, hash);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, hash);
  }
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
  const std::string folder = folder_of(path);
  if (::statvfs(folder.c_str(), &info) != 0) fail_to_create(path, errno);
  // A file system without a size (/proc, an unlimited tmpfs) does not say what it can take.
  if (info.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace attnscope
