#include "attnscope/support/commit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int error,
                       const std::string& next = "look at the disk, then ") {
  throw Error(ErrorKind::output, "OU11",
              {.where = escape_untrusted(path, 4096),
               .what = what + ": " + std::strerror(error),
               .next = next + std::string(kRunItAgain)});
}

// A signal may end an fsync before it has begun to matter.
int sync(int fd) {
  int status = ::fsync(fd);
  while (status != 0 && errno == EINTR) status = ::fsync(fd);
  return status;
}

// 0, or the errno of the call that failed.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

void commit_file(const std::string& temporary, const std::string& path, WriteMode mode) {
  const int fd = ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(temporary, "cannot open for syncing", errno);
  const int synced = sync(fd);
  const int sync_error = errno;
  ::close(fd);
  if (synced != 0) {
    ::unlink(temporary.c_str());
    fail(path, "cannot sync to disk", sync_error);
  }
  // link() fails when the name exists, rename() replaces it.
  const bool create = mode == WriteMode::create;
  const int status =
      create ? ::link(temporary.c_str(), path.c_str()) : ::rename(temporary.c_str(), path.c_str());
  const int error = errno;
  if (create || status != 0) ::unlink(temporary.c_str());
  if (status != 0 && create && error == EEXIST) fail_because_it_exists(path);
  if (status != 0) fail(path, "cannot give the file its name", error);
  sync_folder(folder_of(path));
}

void write_and_commit(const std::string& temporary, const std::string& path,
                      std::string_view content, WriteMode mode) {
  const int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) fail_to_create(path, errno);
  const int error = write_all(fd, content);
  ::close(fd);
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail(path, "cannot write", error);
  }
  commit_file(temporary, path, mode);
}

void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(folder, "cannot open the folder", errno);
  const int status = sync(fd);
  const int error = errno;
  ::close(fd);
  // Some file systems cannot sync folders and say so.
  if (status != 0 && error != EINVAL && error != ENOTSUP) fail(folder, "cannot sync", error);
}

std::string folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace attnscope
