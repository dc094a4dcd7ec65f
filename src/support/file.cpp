#include "attnscope/support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "attnscope/support/commit.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

std::string reason(int error) {
  return std::strerror(error);
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
                 .next = "choose another file for it"});
  }
}

void fail_because_it_exists(const std::string& path) {
  throw Error(ErrorKind::output, "OU02",
              {.where = escape_untrusted(path, 4096),
               .what = "the file exists already",
               .next = "choose another file, or replace it with --force"});
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
               .next = missing ? "make the folder, or choose another" : "choose another folder"});
}

void check_can_write(const std::string& path, WriteMode mode) {
  struct stat info {};
  const bool exists = ::lstat(path.c_str(), &info) == 0;
  if (exists && mode == WriteMode::create) fail_because_it_exists(path);
  if (exists && S_ISDIR(info.st_mode)) fail_to_create(path, EISDIR);
  if (::access(folder_of(path).c_str(), W_OK | X_OK) != 0) fail_to_create(path, errno);
}

void write_file_atomically(const std::string& path, std::string_view content, WriteMode mode) {
  // Several processes may write the same file.
  write_and_commit(path + ".tmp." + std::to_string(::getpid()), path, content, mode);
}

}  // namespace attnscope
