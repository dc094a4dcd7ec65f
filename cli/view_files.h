// File: view_files.h
// From the files that the user names to those that the viewer shows.
#pragma once

#include <string>
#include <vector>

namespace attnscope::cli {

struct ViewFiles {
  std::vector<std::string> paths;
  std::vector<std::string> partial;   // a line for each run that is not finished
  std::vector<std::string> warnings;  // files that are shown with an error
};

// A run that is not finished stands for the shards that it has committed. A file that is named
// twice is shown once. Throws Error VI02 (exit 2) where there is nothing to show.
ViewFiles find_view_files(const std::vector<std::string>& names);

}  // namespace attnscope::cli
