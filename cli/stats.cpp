// attnscope stats: options → StatsSpec → the grid of a head statistic and the leading heads.
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/render/terminal.h"
#include "attnscope/spec/file_specs.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "capture_views.h"
#include "command.h"
#include "console/output.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

constexpr std::int64_t kMaxTop = 100000;

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

}  // namespace

int run_stats(const Command& command, const CommandLine& line) {
  StatsSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.argument({"FILE", "FILE", "capture file"}, spec.file);
  options.group("What to show");
  options.text({"--sort", "NAME", "statistic: induction, previous, sink, entropy, max, …"},
               spec.sort);
  options.text({"--prompt-id", "ID", "one prompt, as in p000000 (default: the mean over all)"},
               spec.prompt_id);
  options.integer({"--top", "N", "heads listed by name (default 10)"}, {0, kMaxTop}, spec.top);
  options.group("Output");
  add_json_option(options, spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);

  const CaptureReader file(spec.file);
  const int prompt = spec.prompt_id.empty() ? -1 : find_prompt(file, spec.prompt_id);
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Stack stack : file.stacks(prompt < 0 ? 0 : prompt)) {
    const HeadGrid grid = head_grid(file, prompt, stack, spec.sort);
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
