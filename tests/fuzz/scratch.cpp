#include "scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "target.h"

namespace attnscope::fuzz {

namespace fs = std::filesystem;

Scratch::Scratch() {
  const fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
  path_ = (parent / "attnscope-fuzz-XXXXXX").string();
  check(::mkdtemp(path_.data()) != nullptr, "cannot make a scratch folder");
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Scratch::write(const std::string& name, std::string_view content) const {
  const std::string path = path_ + "/" + name;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  check(fd >= 0, "cannot write a scratch file");
  check(::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
        "cannot write a scratch file");
  ::close(fd);
  return path;
}

}  // namespace attnscope::fuzz
