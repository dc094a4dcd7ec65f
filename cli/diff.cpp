// attnscope diff: options → DiffSpec → diff_files → one line a site and head.
#include "attnscope/storage/diff.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "attnscope/spec/file_specs.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "command.h"
#include "console/output.h"
#include "console/table.h"
#include "shared_options.h"
#include "sidecar.h"

namespace attnscope::cli {
namespace {

constexpr int kDigits = 4;

// Every site and head together: the largest change, and the mean over all values.
SiteChange overall(const DiffResult& result) {
  SiteChange all;
  double sum = 0;
  for (const SiteChange& change : result.changes) {
    all.largest = std::max(all.largest, change.largest);
    all.values += change.values;
    all.undefined += change.undefined;
    if (change.values > 0) sum += change.mean * static_cast<double>(change.values);
  }
  all.mean = all.values > 0 ? sum / static_cast<double>(all.values)
                            : std::numeric_limits<double>::quiet_NaN();
  return all;
}

std::string as_text(const DiffSpec& spec, const DiffResult& result) {
  console::Table table({{"site"},
                        {"head", Align::right},
                        {"largest change", Align::right},
                        {"mean change", Align::right},
                        {"values", Align::right},
                        {"undefined", Align::right}});
  const auto add = [&table](const std::string& site, const std::string& head,
                            const SiteChange& change) {
    table.add({site, head, format_number(change.largest, kDigits),
               format_number(change.mean, kDigits), std::to_string(change.values),
               std::to_string(change.undefined)});
  };
  for (const SiteChange& change : result.changes) {
    add(hook_name(change.hook), change.head < 0 ? "" : std::to_string(change.head), change);
  }
  add("all", "", overall(result));
  std::string text = table.text();
  const auto list = [&text](const std::string& title, const std::vector<std::string>& hooks) {
    if (!hooks.empty()) text += title + ": " + join(hooks, ", ") + "\n";
  };
  list("Only in " + escape_untrusted(spec.left), result.only_a);
  list("Only in " + escape_untrusted(spec.right), result.only_b);
  list("In both, but of other shape or positions", result.other_shape);
  return text;
}

nlohmann::ordered_json figures(const SiteChange& change) {
  return {{"largest", change.largest},
          {"mean", change.mean},
          {"values", change.values},
          {"undefined", change.undefined}};
}

std::string as_json(const DiffSpec& spec, const DiffResult& result) {
  nlohmann::ordered_json changes = nlohmann::ordered_json::array();
  for (const SiteChange& change : result.changes) {
    nlohmann::ordered_json entry = {{"site", hook_name(change.hook)}};
    if (change.head >= 0) entry["head"] = change.head;
    entry.update(figures(change));
    changes.push_back(entry);
  }
  const nlohmann::ordered_json json = {{"a", escape_untrusted(spec.left, 4096)},
                                       {"b", escape_untrusted(spec.right, 4096)},
                                       {"changes", changes},
                                       {"overall", figures(overall(result))},
                                       {"only_a", result.only_a},
                                       {"only_b", result.only_b},
                                       {"other_shape", result.other_shape}};
  return json.dump(2) + "\n";
}

}  // namespace

int run_diff(const Command& command, const CommandLine& line) {
  DiffSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.argument({"A", "", "capture to compare with"}, spec.left);
  options.argument({"B", "", "capture to compare"}, spec.right);
  options.group("Output");
  add_result_option(options, "also write the comparison to this file (default: print only)",
                    spec.out);
  add_force_option(options, spec.force);
  add_json_option(options, spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);
  const CaptureReader a(spec.left);
  const CaptureReader b(spec.right);
  const DiffResult result = diff_files(a, b);
  if (!spec.out.empty()) {
    write_sidecar(spec.out, write_diff(result, a, b, spec.out, if_exists(spec.force)), line.all);
  }
  console::print(spec.json ? as_json(spec, result) : as_text(spec, result));
  return 0;
}

}  // namespace attnscope::cli
