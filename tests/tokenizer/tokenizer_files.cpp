#include "tokenizer_files.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "attnscope/support/file.h"
#include "attnscope/support/sha256.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {

using nlohmann::json;

std::string read_file(const std::string& path) {
  return read_text_file(path, "TT01", std::uint64_t{1} << 30);
}

json read_json(const std::string& path) {
  return json::parse(read_file(path));
}

Tokenizer tokenizer_from(const json& file, const std::string& config) {
  return Tokenizer::parse(file.dump(), config, "test.json");
}

std::optional<std::string> converted(const std::string& kind,
                                     const std::vector<std::string>& inputs) {
  // Made once for the whole run.
  static const TempFolder folder;
  std::string command = std::string("python3 '") + ATTNSCOPE_SOURCE_DIR +
                        "/tests/tokenizer/make_tokenizer_json.py' " + kind;
  std::string name = kind;
  for (const std::string& input : inputs) {
    const auto path = material("tokenizers/" + input);
    if (!path) return std::nullopt;
    command += " '" + *path + "'";
    name += "-" + std::filesystem::path(input).stem().string();
  }
  const std::string out = folder.file(name + ".json");
  command += " '" + out + "'";
  if (!std::filesystem::exists(out) && std::system(command.c_str()) != 0) {
    throw std::runtime_error("failed: " + command);
  }
  return out;
}

std::optional<std::string> real_model(const std::string& name) {
  const char* root = std::getenv("ATTNSCOPE_MODELS");
  if (root == nullptr || *root == '\0') return std::nullopt;
  return std::string(root) + "/" + name;
}

json offsets_of(const Encoding& encoding) {
  json out = json::array();
  for (const CharSpan& span : encoding.offsets) out.push_back({span.begin, span.end});
  return out;
}

std::string short_hash(std::string_view text) {
  return sha256_of(text).substr(0, 16);
}

}  // namespace attnscope::testing
