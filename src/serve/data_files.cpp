#include "data_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"

namespace attnscope::serve {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::input, "HT05", {.where = escape_untrusted(path, 4096), .what = what});
}

std::string etag_of(const struct stat& info) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "\"%llx-%llx.%lx-%llx.%llx\"",
                static_cast<unsigned long long>(info.st_size),
                static_cast<unsigned long long>(info.st_mtim.tv_sec),
                static_cast<unsigned long>(info.st_mtim.tv_nsec),
                static_cast<unsigned long long>(info.st_dev),
                static_cast<unsigned long long>(info.st_ino));
  return text.data();
}

std::vector<fs::path> absolute_paths(const std::vector<std::string>& paths) {
  std::vector<fs::path> absolute;
  for (const std::string& path : paths) {
    absolute.push_back(fs::absolute(path).lexically_normal());
  }
  return absolute;
}

// The last `parts` parts of a path: "b/run.h5".
std::string ending(const fs::path& path, std::size_t parts) {
  std::vector<std::string> all;
  for (const fs::path& part : path.relative_path()) all.push_back(part.string());
  std::string out;
  const std::size_t begin = all.size() - std::min(parts, all.size());
  for (std::size_t i = begin; i < all.size(); ++i) out += (i == begin ? "" : "/") + all[i];
  return out;
}

}  // namespace

DataFile::DataFile(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not hang.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail(path, std::string("cannot open: ") + std::strerror(errno));
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd_);
    fail(path, "not a regular file");
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
  etag_ = etag_of(info);
}

DataFile::~DataFile() {
  ::close(fd_);
}

std::size_t DataFile::read(std::uint64_t offset, char* out, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd_, out + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

DataFiles::DataFiles(std::vector<std::string> paths)
    : paths_(std::move(paths)), names_(distinct_names(paths_)) {
  for (const fs::path& path : absolute_paths(paths_)) absolute_.push_back(path.string());
}

std::shared_ptr<const DataFile> DataFiles::open(std::size_t index) const {
  return std::make_shared<const DataFile>(paths_.at(index));
}

std::string DataFiles::list_json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    try {
      list.push_back({{"name", names_[i]},
                      {"url", "files/" + std::to_string(i)},
                      {"size", open(i)->size()},
                      {"path", absolute_[i]}});
    } catch (const Error& error) {
      list.push_back({{"name", names_[i]}, {"error", error.detail().what}});
    }
  }
  const nlohmann::ordered_json document = {{"files", list}};
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<std::string> distinct_names(const std::vector<std::string>& paths) {
  const std::vector<fs::path> absolute = absolute_paths(paths);
  std::size_t deepest = 1;
  for (const fs::path& path : absolute) {
    deepest = std::max<std::size_t>(deepest, std::distance(path.begin(), path.end()));
  }
  std::vector<std::string> names(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::size_t parts = 0;
    bool alike = true;
    while (alike && parts < deepest) {
      names[i] = ending(absolute[i], ++parts);
      alike = false;
      for (std::size_t j = 0; j < paths.size(); ++j) {
        alike = alike || (absolute[j] != absolute[i] && ending(absolute[j], parts) == names[i]);
      }
    }
  }
  return names;
}

}  // namespace attnscope::serve
