#include "sidecar.h"

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "attnscope/support/file.h"
#include "attnscope/support/utf8.h"
#include "attnscope/version.h"

namespace attnscope::cli {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

void write_sidecar(const std::string& path, const std::string& sha256,
                   const std::vector<std::string>& command_line) {
  nlohmann::ordered_json words = nlohmann::ordered_json::array();
  for (const std::string& word : command_line) words.push_back(escape_untrusted(word, 65536));
  nlohmann::ordered_json sidecar;
  sidecar[kSidecarHashKey] = sha256;
  sidecar["tool_version"] = ATTNSCOPE_VERSION;
  sidecar["written_utc"] = utc_now();
  sidecar["command_line"] = words;
  write_file_atomically(sidecar_path(path), sidecar.dump(2) + "\n", WriteMode::replace);
}

IfExists if_exists(bool force) {
  return force ? IfExists::force : IfExists::refuse;
}

}  // namespace attnscope::cli
