// attnscope verify: options → VerifySpec → verify_file → what is wrong, one line each.
#include "attnscope/storage/verify.h"

#include <nlohmann/json.hpp>

#include "attnscope/spec/file_specs.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "command.h"
#include "console/output.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

std::string as_json(const VerifySpec& spec, const Verification& result) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : result.findings) {
    list.push_back({{"path", finding.path},
                    {"what", finding.what},
                    {"expected", finding.expected},
                    {"got", finding.got}});
  }
  const nlohmann::ordered_json document = {{"file", escape_untrusted(spec.file, 4096)},
                                           {"ok", result.findings.empty()},
                                           {"findings", list},
                                           {"notes", result.notes}};
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string as_text(const VerifySpec& spec, const Verification& result) {
  std::string text;
  for (const Finding& finding : result.findings) text += describe(finding) + "\n";
  if (result.findings.empty()) {
    text = escape_untrusted(spec.file, 4096) + ": everything checked is right\n";
  }
  for (const std::string& note : result.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace

int run_verify(const Command& command, const CommandLine& line) {
  VerifySpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.argument({"FILE", "", "result file"}, spec.file);
  options.group("Output");
  add_json_option(options, spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);
  const Verification result = verify_file(spec.file);
  console::print(spec.json ? as_json(spec, result) : as_text(spec, result));
  if (result.findings.empty()) return 0;
  throw Error(
      ErrorKind::input, "VF01",
      {.where = escape_untrusted(spec.file),
       .what = "not as it should be: " + count_of(result.findings.size(), "finding") + " above",
       .next = "write it again; a run of several shards can do so with --resume"});
}

}  // namespace attnscope::cli
