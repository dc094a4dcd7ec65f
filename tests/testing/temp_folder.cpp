#include "testing/temp_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

namespace attnscope::testing {

TempFolder::TempFolder() {
  path_ = (std::filesystem::temp_directory_path() / "attnscope-test-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace attnscope::testing
