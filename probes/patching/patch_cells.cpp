#include "patch_cells.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "attnscope/data/positions.h"
#include "attnscope/sites/selectors.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

bool has_heads(Site site) {
  return std::string_view(site_info(site).dims).find_first_of("hg") != std::string_view::npos;
}

bool counts_kv_heads(Site site) {
  return std::string_view(site_info(site).dims).find('g') != std::string_view::npos;
}

PatchGrid grid_of(Site site, const std::string& by) {
  const bool heads = has_heads(site);
  const auto fail = [&](const std::string& expected) {
    throw Error(
        ErrorKind::input, "PT02",
        {.where = "--by",
         .what = std::string(site_info(site).short_name) + " cannot be patched by " + quote(by),
         .expected = expected});
  };
  if (by.empty()) return heads ? PatchGrid::layer_head : PatchGrid::layer_position;
  if (by == "layer,pos") {
    if (heads) fail("layer,head or layer,head,pos");
    return PatchGrid::layer_position;
  }
  if (by == "layer,head") {
    if (!heads) fail("layer,pos");
    return PatchGrid::layer_head;
  }
  if (by != "layer,head,pos" || !heads) fail(heads ? "layer,head or layer,head,pos" : "layer,pos");
  return PatchGrid::layer_head_position;
}

// A position of the cells: a number, or one list a prompt.
struct PositionItem {
  std::string name;  // "7", "subject"
  int position = -1;
  int set = -1;
};

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items(1);
  bool quoted = false;
  for (const char c : list) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789-") == std::string::npos &&
         text[0] != '-';
}

// Adds to every prompt the positions that `item` names there.
int add_set(const std::string& item, const ExperimentInputs& inputs, std::string_view option,
            std::vector<SweepPrompt>& prompts) {
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    prompts[p].position_sets.push_back(positions_of(inputs.pairs.pairs[p].clean, item, option));
  }
  return static_cast<int>(prompts[0].position_sets.size()) - 1;
}

std::vector<PositionItem> position_items(const PatchSpec& spec, const ExperimentInputs& inputs,
                                         std::vector<SweepPrompt>& prompts) {
  int longest = 0;
  for (const SweepPrompt& prompt : prompts) {
    longest = std::max(longest, static_cast<int>(prompt.row.ids.size()));
  }
  std::vector<PositionItem> items;
  if (spec.positions.empty()) {
    for (int p = 0; p < longest; ++p) items.push_back({std::to_string(p), p, -1});
    return items;
  }
  for (const std::string& item : split_list(spec.positions)) {
    if (is_number(item)) {
      for (const int p : parse_ranges(item, longest, "--positions")) {
        items.push_back({std::to_string(p), p, -1});
      }
    } else {
      items.push_back({item, -1, add_set(item, inputs, "--positions", prompts)});
    }
  }
  return items;
}

std::vector<int> chosen_layers(const PatchSpec& spec, const ModelConfig& config) {
  return parse_ranges(spec.layers.empty() ? "*" : spec.layers, config.n_layers, "--layers");
}

// Heads of one site: query heads, or kv heads where the site has those.
std::vector<HeadId> chosen_heads(const PatchSpec& spec, const ModelConfig& config, Site site) {
  std::vector<int> sizes;
  for (const LayerConfig& layer : config.layers) {
    sizes.push_back(counts_kv_heads(site) ? layer.attention.n_kv_heads : layer.attention.n_heads);
  }
  const std::vector<int> layers = chosen_layers(spec, config);
  std::vector<HeadId> heads =
      parse_heads(spec.heads.empty() ? "*.*" : spec.heads, sizes, "--heads");
  std::erase_if(heads, [&](const HeadId& head) {
    return std::find(layers.begin(), layers.end(), head.layer) == layers.end();
  });
  return heads;
}

Edit donor_edit(HookId hook) {
  return {.hook = hook, .operation = Operation::set, .source = ValueSource::donor};
}

void place_at(Edit& edit, const PositionItem& item) {
  if (item.position >= 0) {
    edit.q_positions = {item.position};
  } else {
    edit.q_set = item.set;
  }
}

// Cells of one site, and where they are.
void add_site(const PatchSpec& spec, const ModelConfig& config, Site site, PatchGrid grid,
              const std::vector<PositionItem>& items, PatchGroup& group) {
  const bool first = group.places.empty();
  const auto add = [&](CellPlace place, Edit edit) {
    group.cells.push_back(
        {std::string(site_info(site).short_name) + " " + place.name, {std::move(edit)}});
    if (first) group.places.push_back(std::move(place));
  };
  if (grid == PatchGrid::layer_position) {
    for (const int layer : chosen_layers(spec, config)) {
      for (const PositionItem& item : items) {
        Edit edit = donor_edit({site, layer});
        place_at(edit, item);
        add({std::to_string(layer) + "@" + item.name, layer, -1, item.position}, std::move(edit));
      }
    }
    return;
  }
  for (const HeadId& head : chosen_heads(spec, config, site)) {
    const std::string name = head_name(head);
    Edit edit = donor_edit({site, head.layer});
    edit.heads = {head.head};
    if (grid == PatchGrid::layer_head) {
      add({name, head.layer, head.head, -1}, edit);
      continue;
    }
    for (const PositionItem& item : items) {
      Edit there = edit;
      place_at(there, item);
      add({name + "@" + item.name, head.layer, head.head, item.position}, std::move(there));
    }
  }
}

// Heads or positions that no site of the sweep has would be chosen in vain.
void check_choice_is_used(const PatchSpec& spec, const std::vector<Site>& sites) {
  bool heads = false;
  bool positions = false;
  for (const Site site : sites) {
    const PatchGrid grid = grid_of(site, spec.by);
    heads = heads || grid != PatchGrid::layer_position;
    positions = positions || grid != PatchGrid::layer_head;
  }
  if (!spec.heads.empty() && !heads) {
    throw Error(ErrorKind::input, "PT06",
                {.where = "--heads",
                 .what = "none of the patched sites has heads",
                 .expected = "--site q, k, v, z or pattern beside it"});
  }
  if (!spec.positions.empty() && !positions) {
    throw Error(ErrorKind::input, "PT06",
                {.where = "--positions",
                 .what = "heads are patched at all positions at once",
                 .next = "add --by layer,head,pos"});
  }
}

// Query and kv heads differ in number, so that their cells do not share a table.
using GroupKey = std::pair<PatchGrid, bool>;

std::string group_name(const GroupKey& key) {
  std::string name = "patch_";
  for (const char c : std::string_view(patch_grid_name(key.first))) name += c == ',' ? '_' : c;
  return key.second ? name + "_kv" : name;
}

// In a causal model no query sees a later key, so that there is nothing to cut.
void check_edges_exist(const ModelConfig& config, const std::vector<SweepPrompt>& prompts,
                       int queries, int keys) {
  for (const LayerConfig& layer : config.layers) {
    if (layer.attention.mask != MaskKind::causal) return;
  }
  for (const SweepPrompt& prompt : prompts) {
    const std::vector<int>& q = prompt.position_sets[static_cast<std::size_t>(queries)];
    const std::vector<int>& k = prompt.position_sets[static_cast<std::size_t>(keys)];
    if (q.empty() || k.empty()) continue;
    if (*std::max_element(q.begin(), q.end()) >= *std::min_element(k.begin(), k.end())) return;
  }
  throw Error(ErrorKind::input, "PT08",
              {.where = "--queries",
               .what = "every query lies before every key, and this model only looks back, so that "
                       "there is no edge to cut",
               .next = "choose --keys at or before --queries"});
}

}  // namespace

const char* patch_grid_name(PatchGrid grid) {
  switch (grid) {
    case PatchGrid::layer_position:
      return "layer,pos";
    case PatchGrid::layer_head:
      return "layer,head";
    case PatchGrid::layer_head_position:
      break;
  }
  return "layer,head,pos";
}

std::vector<PatchGroup> patch_groups(const PatchSpec& spec, const ExperimentInputs& inputs,
                                     const SiteInventory& sites,
                                     std::vector<SweepPrompt>& prompts) {
  const ModelConfig& config = inputs.checkpoint.config;
  std::vector<Site> chosen;
  const std::string names = spec.sites.empty() ? "resid_pre" : spec.sites;
  for (const HookId hook : select_hooks(names, sites, "--site")) {
    const SiteInfo& info = site_info(hook.site);
    if (!info.patchable || !info.in_layer) {
      throw Error(ErrorKind::input, "PT01",
                  {.where = "--site",
                   .what = hook_name(hook) + " cannot be patched",
                   .expected = "resid_pre, resid_mid, resid_post, attn_out, mlp_out, q, k, v, z "
                               "or pattern"});
    }
    if (std::find(chosen.begin(), chosen.end(), hook.site) == chosen.end()) {
      chosen.push_back(hook.site);
    }
  }
  check_choice_is_used(spec, chosen);
  const std::vector<PositionItem> items = position_items(spec, inputs, prompts);
  std::map<GroupKey, PatchGroup> groups;
  for (const Site site : chosen) {
    const PatchGrid grid = grid_of(site, spec.by);
    bool kv = false;
    if (counts_kv_heads(site)) {
      for (const LayerConfig& layer : config.layers) {
        kv = kv || layer.attention.n_kv_heads != layer.attention.n_heads;
      }
    }
    PatchGroup& group = groups[{grid, kv}];
    add_site(spec, config, site, grid, items, group);
    group.methods.emplace_back(site_info(site).short_name);
  }
  std::vector<PatchGroup> list;
  for (auto& [key, group] : groups) {
    group.record_name = groups.size() == 1 ? "patch" : group_name(key);
    list.push_back(std::move(group));
  }
  return list;
}

PatchGroup edge_group(const PatchSpec& spec, const ExperimentInputs& inputs,
                      std::vector<SweepPrompt>& prompts) {
  const ModelConfig& config = inputs.checkpoint.config;
  if (spec.keys.empty()) {
    throw Error(ErrorKind::input, "PT03",
                {.where = "--edge",
                 .what = "which keys the edges lead to is not said",
                 .next = "name them with --keys, as in --keys 0 or --keys subject"});
  }
  const int queries =
      add_set(spec.queries.empty() ? "last" : spec.queries, inputs, "--queries", prompts);
  const int keys = add_set(spec.keys, inputs, "--keys", prompts);
  check_edges_exist(config, prompts, queries, keys);
  PatchGroup group = {.record_name = "edges"};
  const bool by_head = spec.by == "layer,head";
  for (const EdgeCut cut : parse_edge_cuts(spec.edges, "--edge")) {
    const bool first = group.places.empty();
    group.methods.push_back(choice_name(cut));
    const auto edge = [&](int layer) {
      return Edit{
          .hook = {cut == EdgeCut::knockout ? Site::attn_scores : Site::pattern, layer},
          .operation = cut == EdgeCut::knockout ? Operation::minus_infinity : Operation::zero,
          .q_set = queries,
          .k_set = keys};
    };
    const auto add = [&](CellPlace place, std::vector<Edit> edits) {
      group.cells.push_back({choice_name(cut) + " " + place.name, std::move(edits)});
      if (first) group.places.push_back(std::move(place));
    };
    if (by_head) {
      for (const HeadId& head : chosen_heads(spec, config, Site::pattern)) {
        Edit edit = edge(head.layer);
        edit.heads = {head.head};
        add({head_name(head), head.layer, head.head, -1}, {std::move(edit)});
      }
      continue;
    }
    for (const int layer : chosen_layers(spec, config)) {
      const int begin = std::max(0, layer - (spec.window - 1) / 2);
      const int end = std::min(config.n_layers, layer + spec.window / 2 + 1);
      std::vector<Edit> edits;
      for (int l = begin; l < end; ++l) edits.push_back(edge(l));
      add({"attn:" + std::to_string(layer), layer, -1, -1}, std::move(edits));
    }
  }
  return group;
}

}  // namespace attnscope
