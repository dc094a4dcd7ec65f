// attnscope stats: options → StatsSpec → the grid of a head statistic and the leading heads.
#include <unistd.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/render/terminal.h"
#include "attnscope/spec/file_specs.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "capture_views.h"
#include "command.h"
#include "console/effect_text.h"
#include "console/experiment_json.h"
#include "console/experiment_text.h"
#include "console/output.h"
#include "console/table.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

constexpr std::int64_t kMaxTop = 100000;

struct Meaning {
  HeadStat stat;
  const char* text;
};
// Each a mean over the rows (queries) i that it can be told of; j is a key, a[i,j] the weight.
constexpr std::array<Meaning, kHeadStatCount> kMeanings = {
    {{HeadStat::entropy, "how widely a row spreads, -sum of a ln a in nats"},
     {HeadStat::max, "largest weight of a row"},
     {HeadStat::self, "a[i,i], the token itself"},
     {HeadStat::distance, "mean of |i - j| under the weights, in tokens"},
     {HeadStat::effective_keys, "1 / sum of a squared: keys that share the weight"},
     {HeadStat::norm_weighted, "sum over keys of the norm of what is moved, |a f(x)|"},
     {HeadStat::learned_sink, "weight on the learned sink, 0 without one"},
     {HeadStat::entropy_norm, "entropy / ln(visible keys); rows that see two or more"},
     {HeadStat::sink, "a[i,0], the first token; rows from 1"},
     {HeadStat::previous, "a[i,i-1], the token before; rows from 1"},
     {HeadStat::next, "a[i,i+1], the token after; undefined in causal models"},
     {HeadStat::duplicate, "weight on earlier tokens of the same id; rows that have one"},
     {HeadStat::induction, "weight on tokens that followed the same id; rows that have one"}}};

// The statistics by name, for the help.
std::string statistics_note() {
  std::string text;
  for (const Meaning& meaning : kMeanings) {
    text += pad_to_width(std::string(head_stat_name(meaning.stat)), 16, Align::left) +
            meaning.text + "\n";
  }
  return text + "Exact definitions and sets of rows: src/kernels/README.md";
}

std::string as_text(const StatsSpec& spec, const HeadGrid& grid) {
  const TerminalStyle style = terminal_style_of(STDOUT_FILENO);
  return terminal_head_grid(grid, style) + "\n" + terminal_top_heads(grid, spec.top, style);
}

// NaN becomes null.
nlohmann::ordered_json as_json(const StatsSpec& spec, const HeadGrid& grid) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto heads = static_cast<std::size_t>(grid.heads);
  for (std::size_t l = 0; l < grid.layers.size(); ++l) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (std::size_t h = 0; h < heads; ++h) {
      const float value = grid.values[l * heads + h];
      row.push_back(std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value));
    }
    rows.push_back(row);
  }
  nlohmann::ordered_json top = nlohmann::ordered_json::array();
  for (const RankedHead& head : top_heads(grid, spec.top, Order::largest_first)) {
    top.push_back({{"head", head_name(head.head)}, {"value", head.value}});
  }
  return {{"stack", stack_name(grid.stack)},
          {"statistic", grid.statistic},
          {"layers", grid.layers},
          {"values", rows},
          {"top", top}};
}

// The results of a file of experiments; several in JSON are a list. Of records about one prompt
// each, "lens/p000000", the first are printed.
void print_experiments(const StatsSpec& spec, const std::optional<ShardId>& part,
                       const std::vector<ExperimentRecord>& records) {
  if (!spec.json) console::print(console::part_text(part));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  int prompts = 0;
  for (const ExperimentRecord& record : records) {
    if (spec.json) {
      all.push_back(nlohmann::ordered_json::parse(console::record_json(record, part)));
      continue;
    }
    const bool of_prompt = record.name.find('/') != std::string::npos;
    if (of_prompt && ++prompts > spec.top) continue;
    console::print(console::record_text(record, spec.top, terminal_style_of(STDOUT_FILENO)));
  }
  if (prompts > spec.top) {
    console::print("… and " + count_of(static_cast<std::uint64_t>(prompts - spec.top), "prompt") +
                   "\n");
  }
  if (spec.json) console::print((all.size() == 1 ? all.front() : all).dump(2) + "\n");
}

// What an experiment has not.
void check_is_about_captures(const StatsSpec& spec, const CaptureReader& file) {
  if (spec.sort.empty()) return;
  fail_argument("VW06",
                {.where = "--sort",
                 .what = escape_untrusted(spec.file, 4096) + " holds effects of " +
                         file_kind_name(file.file().kind) + ", which are listed by their size",
                 .expected = "a capture",
                 .next = "leave --sort out"});
}

// --prompt-id of a file with a record for each prompt: that record alone.
void keep_asked_prompt(const StatsSpec& spec, const CaptureReader& file,
                       std::vector<ExperimentRecord>& records) {
  if (spec.prompt_id.empty()) return;
  const std::string ending = "/" + prompt_group_name(find_prompt(file, spec.prompt_id));
  std::erase_if(records, [&](const ExperimentRecord& r) { return !r.name.ends_with(ending); });
  if (!records.empty()) return;
  fail_argument("VW06", {.where = "--prompt-id",
                         .what = escape_untrusted(spec.file, 4096) + " holds results over prompts",
                         .expected = "a capture, or the file of a lens",
                         .next = "--per-prompt stores the effect on each prompt in the file"});
}

// The grid of the statistic of --sort.
HeadGrid grid_of(const CaptureReader& file, int prompt, Stack stack, const std::string& sort) {
  try {
    return head_grid(file, prompt, stack, sort);
  } catch (const Error& error) {
    if (error.code() != "RN05") throw;
    rethrow_at(error, "--sort");
  }
}

}  // namespace

int run_stats(const Command& command, const CommandLine& line) {
  StatsSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.argument({"FILE", "", "capture file, or the file of an experiment"}, spec.file);
  options.group("What to show");
  options.text({"--sort", "NAME", "captures: statistic, see below (default: induction)"},
               spec.sort);
  options.text({"--prompt-id", "ID",
                "captures and lenses: one prompt, as in p000000 (default: the mean over all)"},
               spec.prompt_id);
  options.integer({"--top", "N", "heads, or units of an experiment, listed by name"}, {0, kMaxTop},
                  spec.top);
  options.group("Output");
  add_json_option(options, spec.json);
  verb.note("Statistics (means over rows, one row a query)", statistics_note());
  if (!verb.parse(line)) return 0;
  validate(spec);

  const CaptureReader file(spec.file);
  auto records = file.experiments();
  if (file.file().kind != FileKind::capture && !records.empty()) {
    check_is_about_captures(spec, file);
    keep_asked_prompt(spec, file, records);
    print_experiments(spec, file.file().shard, records);
    return 0;
  }
  const std::string sort = spec.sort.empty() ? "induction" : spec.sort;
  const int prompt = spec.prompt_id.empty() ? -1 : find_prompt(file, spec.prompt_id);
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Stack stack : file.stacks(prompt < 0 ? 0 : prompt)) {
    const HeadGrid grid = grid_of(file, prompt, stack, sort);
    if (spec.json) {
      all.push_back(as_json(spec, grid));
    } else {
      console::print(as_text(spec, grid));
    }
  }
  if (spec.json) console::print((all.size() == 1 ? all.front() : all).dump(2) + "\n");
  return 0;
}

}  // namespace attnscope::cli
