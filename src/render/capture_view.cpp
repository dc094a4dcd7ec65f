#include "attnscope/render/capture_view.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

const TokenTable& query_tokens(const PromptRecord& prompt, Stack stack) {
  const bool target = stack == Stack::decoder || stack == Stack::cross;
  return target && prompt.target ? *prompt.target : prompt.tokens;
}

const TokenTable& key_tokens(const PromptRecord& prompt, Stack stack) {
  return stack == Stack::decoder && prompt.target ? *prompt.target : prompt.tokens;
}

// The stored positions of an axis: those listed, else all of `count`.
std::vector<int> positions(const std::vector<std::int64_t>& listed, int count) {
  std::vector<int> all(listed.begin(), listed.end());
  for (int i = 0; listed.empty() && i < count; ++i) all.push_back(i);
  return all;
}

std::vector<std::string> labels(const TokenTable& tokens, const std::vector<int>& at) {
  std::vector<std::string> texts;
  for (const int position : at) {
    const auto i = static_cast<std::size_t>(position);
    texts.push_back(i < tokens.text.size() ? tokens.text[i] : "");
  }
  return texts;
}

[[noreturn]] void fail_unknown_statistic(const std::string& name,
                                         const std::vector<std::string>& known) {
  const auto near = nearest(name, known);
  throw Error(ErrorKind::input, "RN05",
              {.where = "statistic",
               .what = "no statistic of this name",
               .expected = "one of " + join(known, ", "),
               .got = quote(name),
               .next = near.empty() ? "" : "did you mean " + join(near, " or ") + "?"});
}

std::vector<std::string> caption_of(const CaptureReader& file, const PromptRecord& record,
                                    int prompt, const std::string& hook) {
  std::string text = record.text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  const ModelInfo model = file.model();
  return {"model: " + model.name + " (" + model.family + ")",
          "prompt " + prompt_group_name(prompt) + (text.empty() ? "" : ": " + text),
          "hook: " + hook};
}

// Sums of one statistic over prompts, and on how many it was defined.
struct Mean {
  double sum = 0;
  int count = 0;
  void add(float value) {
    if (std::isnan(value)) return;
    sum += value;
    ++count;
  }
  float value() const {
    return count == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(sum / count);
  }
};

}  // namespace

std::vector<int> heads_per_layer(const CaptureReader& file) {
  const ModelInfo model = file.model();
  const auto size = [&model](const char* name) {
    const auto found = model.sizes.find(name);
    return found == model.sizes.end() ? std::int64_t{0} : found->second;
  };
  return std::vector<int>(static_cast<std::size_t>(size("n_layers")),
                          static_cast<int>(size("n_heads")));
}

bool has_head_map(const CaptureReader& file, int prompt, HeadId head, Site site) {
  const auto stored = file.site(prompt, {site, head.layer, head.stack});
  return stored && CaptureReader::head_slot(*stored, head.head);
}

void fail_missing_map(const CaptureReader& file, int prompt, HeadId head, Site site) {
  constexpr std::size_t kListed = 8;
  std::vector<std::string> heads;
  for (const HookId hook : file.hooks(prompt)) {
    if (hook.site != site || hook.stack != head.stack) continue;
    const std::optional<StoredSite> stored = file.site(prompt, hook);
    for (std::int64_t slot = 0; stored->map && slot < stored->map->heads; ++slot) {
      const auto& listed = stored->subset.heads;
      const auto number = listed.empty() ? slot : listed[static_cast<std::size_t>(slot)];
      heads.push_back(head_name({hook.layer, static_cast<int>(number), hook.stack}));
    }
  }
  const std::string name = site_info(site).short_name;
  std::string got = heads.empty() ? "no " + name + " at all" : "";
  if (!heads.empty()) {
    const std::string more = heads.size() > kListed ? " …" : "";
    heads.resize(std::min(heads.size(), kListed));
    got = name + " of " + join(heads, ", ") + more;
  }
  throw Error(ErrorKind::input, "RN04",
              {.where = escape_untrusted(file.path()),
               .what = "the file has no " + name + " of head " + head_name(head),
               .got = got,
               .next = "record it: attnscope capture … --hooks " + name});
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
  map.caption = caption_of(file, record, prompt, hook_name(hook));
  if (site == Site::pattern) map.scale = Scale{0, 1, ColorMap::viridis};
  return map;
}

HeatMapGrid head_maps(const CaptureReader& file, int prompt, std::span<const HeadId> heads,
                      Site site) {
  std::map<int, std::vector<HeatMap>> layers;
  std::size_t most = 1;
  for (const HeadId head : heads) {
    std::vector<HeatMap>& layer = layers[head.layer];
    layer.push_back(head_map(file, prompt, head, site));
    most = std::max(most, layer.size());
  }
  HeatMapGrid grid;
  grid.columns = static_cast<int>(most);
  for (auto& [number, maps] : layers) {
    maps.resize(most);
    std::move(maps.begin(), maps.end(), std::back_inserter(grid.maps));
  }
  grid.title = count_of(heads.size(), "head");
  grid.caption = caption_of(file, file.prompt(prompt), prompt, site_info(site).name);
  return grid;
}

HeadGrid head_grid(const CaptureReader& file, int prompt, Stack stack,
                   const std::string& statistic) {
  const int first = prompt < 0 ? 0 : prompt;
  const int last = prompt < 0 ? file.prompts() - 1 : prompt;
  const StoredAttention attention = file.attention(first, stack);
  const auto found = std::find(attention.head_stats.begin(), attention.head_stats.end(), statistic);
  if (found == attention.head_stats.end()) fail_unknown_statistic(statistic, attention.head_stats);
  const auto column = static_cast<std::size_t>(found - attention.head_stats.begin());

  HeadGrid grid;
  grid.statistic = statistic;
  grid.stack = stack;
  grid.layers.assign(attention.layers.begin(), attention.layers.end());
  std::vector<Mean> means;
  for (int p = first; p <= last; ++p) {
    const Array table = file.read_table(p, stack, AttentionTable::head_stats);  // [l h s]
    grid.heads = static_cast<int>(table.shape.at(1));
    const auto stats = static_cast<std::size_t>(table.shape.at(2));
    const std::vector<float> values = table.as_float();
    means.resize(values.size() / stats);
    for (std::size_t i = 0; i < means.size(); ++i) means[i].add(values[i * stats + column]);
  }
  for (const Mean& mean : means) grid.values.push_back(mean.value());
  return grid;
}

}  // namespace attnscope
