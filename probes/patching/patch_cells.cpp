#include "patch_cells.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "attnscope/probes/cell_positions.h"
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

bool is_patched_site(Site site) {
  const SiteInfo& info = site_info(site);
  return info.patchable && info.in_layer;
}

// "resid_pre, q, k, …": what --site can name in this model.
std::string patched_sites(const SiteInventory& sites) {
  std::vector<std::string> names;
  for (const SiteInfo& info : all_sites()) {
    const bool there = std::any_of(sites.hooks.begin(), sites.hooks.end(),
                                   [&](HookId hook) { return hook.site == info.site; });
    if (there && is_patched_site(info.site)) names.emplace_back(info.short_name);
  }
  return join(names, ", ");
}

// The hooks of --site, of every layer each: single layers are for --layers to choose.
std::vector<HookId> hooks_of_sites(const std::string& names, const SiteInventory& sites) {
  std::vector<HookId> hooks;
  try {
    hooks = select_hooks(names, sites, "--site");
  } catch (const Error& error) {
    if (error.code() != "SE10") throw;
    throw Error(ErrorKind::input, "PT01",
                {.where = "--site",
                 .what = quote(names) + " names no site of this model",
                 .expected = patched_sites(sites)});
  }
  for (const HookId hook : sites.hooks) {
    const auto same_site = [&](HookId other) { return other.site == hook.site; };
    const bool named = std::any_of(hooks.begin(), hooks.end(), same_site);
    if (!named || std::find(hooks.begin(), hooks.end(), hook) != hooks.end()) continue;
    throw Error(ErrorKind::input, "PT01",
                {.where = "--site",
                 .what = quote(names) + " names single layers",
                 .expected = "sites, such as " + std::string(site_info(hook.site).short_name),
                 .next = "choose layers by --layers"});
  }
  return hooks;
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

void place_at(Edit& edit, const CellPosition& item) {
  if (item.position >= 0) {
    edit.q_positions = {item.position};
  } else {
    edit.q_set = item.set;
  }
}

// Cells of one site, and where they are.
void add_site(const PatchSpec& spec, const ModelConfig& config, Site site, PatchGrid grid,
              const std::vector<CellPosition>& items, PatchGroup& group) {
  const bool first = group.places.empty();
  const auto add = [&](CellPlace place, Edit edit) {
    group.cells.push_back(
        {std::string(site_info(site).short_name) + " " + place.name, {std::move(edit)}});
    if (first) group.places.push_back(std::move(place));
  };
  if (grid == PatchGrid::layer_position) {
    for (const int layer : chosen_layers(spec, config)) {
      for (const CellPosition& item : items) {
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
    for (const CellPosition& item : items) {
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

// Queries (of all prompts) that lose every key they see in a layer of some cell.
std::int64_t rows_without_keys(const ModelConfig& config, const std::vector<Cell>& cells,
                               const std::vector<SweepPrompt>& prompts, int queries, int keys) {
  std::set<int> layers;
  for (const Cell& cell : cells) {
    for (const Edit& edit : cell.edits) layers.insert(edit.hook.layer);
  }
  std::int64_t rows = 0;
  for (const SweepPrompt& prompt : prompts) {
    const auto n = static_cast<int>(prompt.row.ids.size());
    const std::vector<int>& cut = prompt.position_sets[static_cast<std::size_t>(keys)];
    const std::set<int> lost(cut.begin(), cut.end());
    const auto loses_all = [&](int query, const AttentionSpec& attention) {
      if (attention.learned_sink) return false;  // which keeps the weight
      const bool causal = attention.mask == MaskKind::causal;
      const int first =
          causal && attention.window > 0 ? std::max(0, query - attention.window + 1) : 0;
      const int last = causal ? query : n - 1;
      for (int key = first; key <= last; ++key) {
        if (!lost.contains(key)) return false;
      }
      return true;
    };
    for (const int query : prompt.position_sets[static_cast<std::size_t>(queries)]) {
      rows += std::any_of(layers.begin(), layers.end(), [&](int layer) {
        return loses_all(query, config.layers[static_cast<std::size_t>(layer)].attention);
      });
    }
  }
  return rows;
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
  for (const HookId hook : hooks_of_sites(names, sites)) {
    if (!is_patched_site(hook.site)) {
      throw Error(ErrorKind::input, "PT01",
                  {.where = "--site",
                   .what = hook_name(hook) + " cannot be patched",
                   .expected = patched_sites(sites)});
    }
    if (std::find(chosen.begin(), chosen.end(), hook.site) == chosen.end()) {
      chosen.push_back(hook.site);
    }
  }
  check_choice_is_used(spec, chosen);
  const std::vector<CellPosition> items =
      cell_positions(spec.positions, inputs, "--positions", prompts);
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
  if (spec.window > config.n_layers) {
    throw Error(ErrorKind::input, "PT14",
                {.where = "--window",
                 .what = "there are fewer layers",
                 .expected = "1 to " + std::to_string(config.n_layers),
                 .got = std::to_string(spec.window)});
  }
  const int queries = add_position_set(spec.queries, inputs, "--queries", prompts);
  const int keys = add_position_set(spec.keys, inputs, "--keys", prompts);
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
  group.rows_without_keys = rows_without_keys(config, group.cells, prompts, queries, keys);
  return group;
}

}  // namespace attnscope
