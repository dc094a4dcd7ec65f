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

std::string as_json(const VerifySpec& spec, const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"path", finding.path},
                    {"what", finding.what},
                    {"expected", finding.expected},
                    {"got", finding.got}});
  }
  const nlohmann::ordered_json result = {
      {"file", escape_untrusted(spec.file, 4096)}, {"ok", findings.empty()}, {"findings", list}};
  return result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string as_text(const VerifySpec& spec, const std::vector<Finding>& findings) {
  if (findings.empty())
    return escape_untrusted(spec.file, 4096) + ": everything checked is right\n";
  std::string text;
  for (const Finding& finding : findings) text += describe(finding) + "\n";
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
  const std::vector<Finding> findings = verify_file(spec.file);
  console::print(spec.json ? as_json(spec, findings) : as_text(spec, findings));
  if (findings.empty()) return 0;
  throw Error(ErrorKind::input, "VF01",
              {.where = escape_untrusted(spec.file),
               .what = "not as it should be: " + count_of(findings.size(), "finding") + " above",
               .next = "write it again; a run of several shards can do so with --resume"});
}

}  // namespace attnscope::cli
