// File: scratch.h
// A folder for targets whose readers take a path.
#pragma once

#include <string>
#include <string_view>

namespace attnscope::fuzz {

// Removed at the end of the process; in memory where the system has /dev/shm.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  // The path of `name`, which then holds `content`.
  std::string write(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
};

}  // namespace attnscope::fuzz
