// File: data_files.h
// The files that are shown: a list made at start, asked for by index. No name of a file is ever
// made of what a request says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attnscope::serve {

// An open regular file; links that the user named are followed.
class DataFile {
 public:
  // Throws Error HT05 with a plain `what`.
  explicit DataFile(const std::string& path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  std::uint64_t size() const { return size_; }
  // Another one for every other content: size, time of the last change in nanoseconds, device and
  // number of the file. With its quotes.
  const std::string& etag() const { return etag_; }
  // How many bytes were read, which is fewer than asked for if the file was cut meanwhile.
  std::size_t read(std::uint64_t offset, char* out, std::size_t bytes) const;

 private:
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::string etag_;
};

class DataFiles {
 public:
  explicit DataFiles(std::vector<std::string> paths);

  std::size_t count() const { return paths_.size(); }
  // Opened anew each time, so that a file that was replaced is seen.
  std::shared_ptr<const DataFile> open(std::size_t index) const;
  // What /files.json says: {"files": [{"name", "url", "size", "path"} or {"name", "error"}]}. The
  // page writes the path into the command that serves the files again.
  std::string list_json() const;

 private:
  std::vector<std::string> paths_;
  std::vector<std::string> absolute_;
  std::vector<std::string> names_;
};

// Base names; where two are alike, with as many folders before them as tell them apart.
std::vector<std::string> distinct_names(const std::vector<std::string>& paths);

}  // namespace attnscope::serve
