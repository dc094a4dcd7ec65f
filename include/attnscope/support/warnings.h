// File: warnings.h
// Warnings are collected by whoever asked for the work and shown once at the edge (the command
// line prints them to standard error, a capture stores them); no module prints by itself.
#pragma once

#include <string>
#include <vector>

namespace attnscope {

class Warnings {
 public:
  // One plain line. Text that came from a file must be escaped first.
  void add(std::string line);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

}  // namespace attnscope
