// File: build_info.h
// What this binary was built from; stored in every file it writes.
#pragma once

#include <string>

namespace attnscope {

struct BuildInfo {
  std::string version;  // "0.1.0"
  std::string
      git_commit;  // short hash, "+" appended when the tree had changes; "unknown" without git
  std::string compiler;    // "GNU 12.2.0"
  std::string build_type;  // "Release"
};

const BuildInfo& build_info();

}  // namespace attnscope
