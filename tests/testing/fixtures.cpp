#include "testing/fixtures.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace attnscope::testing {

std::string fixture(const std::string& relative) {
  const std::string path = std::string(ATTNSCOPE_SOURCE_DIR) + "/tests/fixtures/" + relative;
  if (!std::filesystem::exists(path)) throw std::runtime_error("no fixture " + path);
  return path;
}

std::optional<std::string> material(const std::string& relative) {
  const char* root = std::getenv("ATTNSCOPE_MATERIAL");
  if (root == nullptr || *root == '\0') return std::nullopt;
  const std::string path = std::string(root) + "/" + relative;
  if (!std::filesystem::exists(path)) throw std::runtime_error("ATTNSCOPE_MATERIAL has no " + path);
  return path;
}

}  // namespace attnscope::testing
