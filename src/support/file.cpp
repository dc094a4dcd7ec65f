#include "attnscope/support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

std::string reason(int error) {
  return std::strerror(error);
}

[[noreturn]] void output_error(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::output, "OU02",
              {.where = escape_untrusted(path, 4096), .what = what + ": " + reason(error)});
}

[[noreturn]] void fail_because_it_exists(const std::string& path) {
  throw Error(ErrorKind::output, "OU02",
              {.where = escape_untrusted(path, 4096),
               .what = "the file exists already",
               .next = "choose another -o, or replace it with --force"});
}

void write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) output_error(path, "cannot write", errno);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

InputFile::InputFile(std::string path, std::string code)
    : path_(std::move(path)), code_(std::move(code)) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::input, code_, {.where = escape_untrusted(path_, 4096), .what = what});
  };
  // O_NONBLOCK: opening a FIFO without a writer must not hang.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail("cannot open: " + reason(errno));
  struct stat info {};
  const bool known = ::fstat(fd_, &info) == 0;
  if (!known || !S_ISREG(info.st_mode)) {
    ::close(fd_);
    fail("not a regular file");
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      code_(std::move(other.code_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

std::string InputFile::identity() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return {};
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + ":" +
         std::to_string(info.st_size) + ":" + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
}

void InputFile::read(std::uint64_t offset, void* out, std::size_t bytes) const {
  auto* target = static_cast<char*>(out);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd_, target + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      throw Error(
          ErrorKind::input, code_,
          {.where = escape_untrusted(path_, 4096),
           .what = n < 0 ? "cannot read: " + reason(errno) : "the file ended while it was read",
           .expected = std::to_string(bytes) + " bytes at " + std::to_string(offset),
           .got = std::to_string(done)});
    }
    done += static_cast<std::size_t>(n);
  }
}

std::string read_text_file(const std::string& path, const std::string& code,
                           std::uint64_t max_bytes) {
  const InputFile file(path, code);
  if (file.size() > max_bytes) {
    throw Error(ErrorKind::limit, code,
                {.where = escape_untrusted(path, 4096),
                 .what = "the file is too large",
                 .expected = "at most " + format_bytes(max_bytes),
                 .got = format_bytes(file.size())});
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

void check_output_is_no_input(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code absent;
    if (input.empty() || !std::filesystem::equivalent(output, input, absent)) continue;
    throw Error(ErrorKind::input, "OU04",
                {.where = escape_untrusted(output, 4096),
                 .what = "the output is also an input of this command",
                 .next = "choose another -o"});
  }
}

void fail_to_create(const std::string& path, int error) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  std::error_code unknown;
  const bool missing = !fs::exists(folder, unknown);
  const std::string shown = escape_untrusted(folder.string(), 4096);
  // The kernel says "no such file" also of a folder whose file system takes no new files.
  const std::string why = error == ENOENT ? "its file system takes no new files" : reason(error);
  throw Error(ErrorKind::output, "OU02",
              {.where = escape_untrusted(path, 4096),
               .what = missing ? "the folder " + shown + " does not exist"
                               : "cannot create a file in the folder " + shown + ": " + why,
               .next = missing ? "make the folder, or choose another -o" : "choose another -o"});
}

void write_file_atomically(const std::string& path, std::string_view content, WriteMode mode) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) fail_to_create(path, errno);
  try {
    write_all(fd, content, path);
    if (::fsync(fd) != 0) output_error(path, "cannot write to the disk", errno);
    ::close(fd);
  } catch (...) {
    ::close(fd);
    ::unlink(temporary.c_str());
    throw;
  }
  // link() fails when the name exists, rename() replaces it.
  const bool create = mode == WriteMode::create;
  const int status =
      create ? ::link(temporary.c_str(), path.c_str()) : ::rename(temporary.c_str(), path.c_str());
  const int error = errno;
  if (create || status != 0) ::unlink(temporary.c_str());
  if (create && error == EEXIST && status != 0) fail_because_it_exists(path);
  if (status != 0) output_error(path, "cannot create", error);
  const int dir = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir >= 0) {
    ::fsync(dir);
    ::close(dir);
  }
}

}  // namespace attnscope
