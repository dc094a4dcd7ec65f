#include "capture_views.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "console/output.h"

namespace attnscope::cli {
namespace {

std::vector<int> heads_per_layer(const CaptureReader& file) {
  const ModelInfo model = file.model();
  const auto size = [&model](const char* name) {
    const auto found = model.sizes.find(name);
    return found == model.sizes.end() ? std::int64_t{0} : found->second;
  };
  return std::vector<int>(static_cast<std::size_t>(size("n_layers")),
                          static_cast<int>(size("n_heads")));
}

const TokenTable& query_tokens(const PromptRecord& prompt, Stack stack) {
  const bool target = stack == Stack::decoder || stack == Stack::cross;
  return target && prompt.target ? *prompt.target : prompt.tokens;
}

const TokenTable& key_tokens(const PromptRecord& prompt, Stack stack) {
  return stack == Stack::decoder && prompt.target ? *prompt.target : prompt.tokens;
}

// The stored positions of an axis: those listed, else all of `count`.
std::vector<int> positions(const std::vector<std::int64_t>& listed, std::int64_t count) {
  std::vector<int> out(listed.begin(), listed.end());
  for (std::int64_t i = 0; listed.empty() && i < count; ++i) out.push_back(static_cast<int>(i));
  return out;
}

std::vector<std::string> labels(const TokenTable& tokens, const std::vector<int>& at) {
  std::vector<std::string> out;
  for (const int position : at) {
    const auto i = static_cast<std::size_t>(position);
    out.push_back(i < tokens.text.size() ? tokens.text[i] : "");
  }
  return out;
}

[[noreturn]] void fail_missing_map(const CaptureReader& file, int prompt, HeadId head, Site site) {
  std::vector<std::string> layers;
  for (const HookId hook : file.hooks(prompt)) {
    if (hook.site == site && hook.stack == head.stack) layers.push_back(std::to_string(hook.layer));
  }
  const std::string name = site_info(site).short_name;
  const bool none = layers.empty();
  throw Error(
      ErrorKind::input, "VW02",
      {.where = escape_untrusted(file.path()),
       .what = "holds no " + name + " of head " + head_name(head),
       .expected =
           none ? "" : "a recorded head; it has " + name + " of layers " + join(layers, ", "),
       .next = "record it: attnscope capture … --hooks " + name});
}

std::vector<std::string> caption_of(const CaptureReader& file, int prompt, HookId hook) {
  std::string text = file.prompt(prompt).text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return {"model: " + file.model().name, "prompt " + prompt_group_name(prompt) + ": " + text,
          "hook: " + hook_name(hook)};
}

}  // namespace

HeadId parse_head(const CaptureReader& file, const std::string& text, const std::string& option) {
  const std::vector<HeadId> heads = parse_heads(text, heads_per_layer(file), option);
  if (heads.size() == 1) return heads.front();
  throw Error(ErrorKind::input, "VW01",
              {.where = option,
               .what = "one head is drawn at a time",
               .expected = "one head such as 5.1",
               .got = quote(text)});
}

std::vector<HeadId> parse_stored_heads(const CaptureReader& file, int prompt, Site site,
                                       const std::string& text) {
  const std::vector<HeadId> asked = parse_heads(text, heads_per_layer(file), "--heads");
  std::vector<HeadId> stored;
  for (const HeadId head : asked) {
    const auto found = file.site(prompt, {site, head.layer, head.stack});
    if (found && CaptureReader::head_slot(*found, head.head)) stored.push_back(head);
  }
  if (stored.empty()) fail_missing_map(file, prompt, asked.front(), site);
  if (stored.size() < asked.size()) {
    console::print_warnings({std::to_string(asked.size() - stored.size()) +
                             " of the heads were not recorded and are left out"});
  }
  return stored;
}

HeatMap head_map(const CaptureReader& file, int prompt, HeadId head, Site site) {
  const HookId hook{site, head.layer, head.stack};
  const std::optional<StoredSite> stored = file.site(prompt, hook);
  const auto slot = stored ? CaptureReader::head_slot(*stored, head.head) : std::nullopt;
  if (!slot) fail_missing_map(file, prompt, head, site);

  const PromptRecord record = file.prompt(prompt);
  HeatMap map;
  map.rows = static_cast<int>(stored->shape.at(1));
  map.columns = static_cast<int>(stored->shape.at(2));
  map.values = file.read_map(prompt, hook, *slot);
  map.row_positions = positions(stored->subset.q_positions, map.rows);
  map.column_positions = positions(stored->subset.k_positions, map.columns);
  map.row_labels = labels(query_tokens(record, head.stack), map.row_positions);
  map.column_labels = labels(key_tokens(record, head.stack), map.column_positions);
  if (stored->map && stored->map->causal) map.hidden = HiddenCells::above_diagonal;
  map.title = "head " + head_name(head);
  map.row_title = "query token (reads)";
  map.column_title = "key token (is read)";
  map.value_name = site == Site::pattern ? "attention weight" : "attention score";
  map.caption = caption_of(file, prompt, hook);
  if (site == Site::pattern) map.scale = Scale{0, 1, ColorMap::viridis};
  return map;
}

HeadGrid head_grid(const CaptureReader& file, int prompt, Stack stack,
                   const std::string& statistic) {
  const int first = prompt < 0 ? 0 : prompt;
  const int last = prompt < 0 ? file.prompts() - 1 : prompt;
  const StoredAttention attention = file.attention(first, stack);
  const auto found = std::find(attention.head_stats.begin(), attention.head_stats.end(), statistic);
  if (found == attention.head_stats.end()) {
    const auto near = nearest(statistic, attention.head_stats);
    throw Error(ErrorKind::input, "VW03",
                {.where = "--sort",
                 .what = "no statistic of this name",
                 .expected = "one of " + join(attention.head_stats, ", "),
                 .got = quote(statistic),
                 .next = near.empty() ? "" : "did you mean " + join(near, " or ") + "?"});
  }
  const auto column = static_cast<std::size_t>(found - attention.head_stats.begin());

  HeadGrid grid;
  grid.statistic = statistic;
  grid.stack = stack;
  grid.layers.assign(attention.layers.begin(), attention.layers.end());
  std::vector<double> sums;
  std::vector<int> counts;
  for (int p = first; p <= last; ++p) {
    const Array table = file.read_table(p, stack, AttentionTable::head_stats);  // [l h s]
    grid.heads = static_cast<int>(table.shape.at(1));
    const auto stats = static_cast<std::size_t>(table.shape.at(2));
    const std::vector<float> values = table.as_float();
    sums.resize(values.size() / stats);
    counts.resize(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const float value = values[i * stats + column];
      if (std::isnan(value)) continue;
      sums[i] += value;
      ++counts[i];
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    grid.values.push_back(counts[i] == 0 ? std::numeric_limits<float>::quiet_NaN()
                                         : static_cast<float>(sums[i] / counts[i]));
  }
  return grid;
}

Site map_site(MapChoice choice) {
  return choice == MapChoice::pattern ? Site::pattern : Site::attn_scores;
}

int find_prompt(const CaptureReader& file, const std::string& id) {
  return id.empty() ? 0 : file.find_prompt(id, "--prompt-id");
}

}  // namespace attnscope::cli
