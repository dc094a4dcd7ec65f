#include "merged.h"

#include <nlohmann/json.hpp>

#include "attnscope/storage/reader.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "console/output.h"
#include "sidecar.h"

namespace attnscope::cli {
namespace {

// What was written, with the keys of the verbs that compute.
std::string as_json(const MergeSpec& spec, const std::string& sha256) {
  const CaptureReader file(spec.out, {.trust = Trust::own});
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const ExperimentRecord& record : file.experiments()) names.push_back(record.name);
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const std::string& input : spec.files) inputs.push_back(escape_untrusted(input, 4096));
  const nlohmann::ordered_json json = {{"kind", file_kind_name(file.file().kind)},
                                       {"files", inputs},
                                       {"prompts", file.prompts()},
                                       {"experiments", names},
                                       {"path", escape_untrusted(spec.out, 4096)},
                                       {"sha256", sha256},
                                       {"warnings", nlohmann::ordered_json::array()}};
  return json.dump(2) + "\n";
}

}  // namespace

void write_merged(const MergeSpec& spec, const std::vector<std::string>& command_line,
                  JoinRecords join) {
  const std::string sha256 = merge_files({.inputs = spec.files,
                                          .path = spec.out,
                                          .if_exists = if_exists(spec.force),
                                          .join_records = join});
  write_sidecar(spec.out, sha256, command_line);
  if (spec.json) return console::print(as_json(spec, sha256));
  console::print("Wrote " + escape_untrusted(spec.out, 4096) + " from " +
                 count_of(spec.files.size(), "file") + ".\n");
}

}  // namespace attnscope::cli
