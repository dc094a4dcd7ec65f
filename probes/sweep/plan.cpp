#include "plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "cost.h"

namespace attnscope {
namespace {

// Kept values of a chunk of prompts may take this much.
constexpr double kChunkBytes = 256.0 * (1 << 20);
constexpr int kMostPromptsOfChunk = 16;
// Positions that rows of a wave may run for nothing, as a share of their length; below so many
// positions a product is too small to be fast, and more is allowed.
constexpr int kPaddingShare = 16;
constexpr std::int64_t kSmallProduct = 192;

LayerPoint point_of(Site site, const ModelConfig& config) {
  if (site < Site::z) return LayerPoint::resid_pre;
  if (site < Site::resid_mid) return LayerPoint::z;
  if (site >= Site::resid_post) return LayerPoint::resid_post;
  const bool has_mid = !config.parallel_block && config.mlp != MlpKind::none;
  return has_mid ? LayerPoint::resid_mid : LayerPoint::z;
}

// The site whose value a run from `point` is given.
std::optional<Site> input_site(LayerPoint point) {
  switch (point) {
    case LayerPoint::resid_pre:
      return Site::resid_pre;
    case LayerPoint::z:
      return Site::z;
    case LayerPoint::resid_mid:
      return Site::resid_mid;
    case LayerPoint::resid_post:
      return Site::resid_post;
    case LayerPoint::normalized_resid_mid:
      break;
  }
  return std::nullopt;
}

void check_edit(const Cell& cell, const Edit& edit, const Model& model) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::input, "SW01", {.where = cell.name, .what = what});
  };
  if (!model.sites().contains(edit.hook)) {
    fail("this model has no " + hook_name(edit.hook));
  }
  if (edit.hook.layer < 0) fail(hook_name(edit.hook) + " is outside the layers");
  if (edit.source == ValueSource::noise && edit.hook.site != Site::attn_out) {
    fail("noise is added to attn_out only");
  }
}

// Reads only its own position of everything before it.
bool is_local_site(Site site) {
  return site != Site::k && site != Site::v && site != Site::rot_k &&
         site != Site::ln1_normalized && site >= Site::resid_pre;
}

// The one position that a cell changes, if a wave can run it.
std::optional<int> lone_position(const Cell& cell) {
  std::optional<int> position;
  for (const Edit& edit : cell.edits) {
    const bool single = edit.q_positions.size() == 1 && edit.q_positions[0] >= 0 && edit.q_set < 0;
    if (!single || !is_local_site(edit.hook.site)) return std::nullopt;
    if (edit.source == ValueSource::noise || edit.k_set >= 0) return std::nullopt;
    if (edit.hook.layer != cell.edits[0].hook.layer) return std::nullopt;
    // What changes keys and values reaches other positions within the layer: alone it is the
    // layer's input, together with others it is not.
    if ((edit.hook.site == Site::resid_pre) != (cell.edits[0].hook.site == Site::resid_pre)) {
      return std::nullopt;
    }
    if (position && *position != edit.q_positions[0]) return std::nullopt;
    position = edit.q_positions[0];
  }
  return position;
}

// What tells variants apart: everything but the position.
using EditKey = std::tuple<HookId, Operation, ValueSource, std::vector<int>, std::vector<int>,
                           const void*, double, int>;

std::vector<EditKey> key_of(const Cell& cell) {
  std::vector<EditKey> key;
  for (const Edit& edit : cell.edits) {
    const void* value = edit.value.defined() ? edit.value.const_data_ptr() : nullptr;
    key.emplace_back(edit.hook, edit.operation, edit.source, edit.heads, edit.k_positions, value,
                     edit.factor, edit.donor);
  }
  return key;
}

ResumePoint earliest_point(const Cell& cell, const ModelConfig& config) {
  ResumePoint earliest = {config.n_layers, LayerPoint::resid_pre};
  for (const Edit& edit : cell.edits) {
    const ResumePoint point = {edit.hook.layer, point_of(edit.hook.site, config)};
    if (point.layer < earliest.layer ||
        (point.layer == earliest.layer && point.point < earliest.point)) {
      earliest = point;
    }
  }
  return earliest;
}

class Planner {
 public:
  Planner(const Model& model, const std::vector<Cell>& cells,
          const std::vector<SweepPrompt>& prompts, const SweepSettings& settings)
      : config_(model.config()),
        model_(model),
        cells_(cells),
        prompts_(prompts),
        settings_(settings),
        causal_(is_causal(model.config())) {}

  SweepWork plan() {
    for (std::size_t i = 0; i < cells_.size(); ++i) route(i);
    find_needs();
    cut_chunks();
    for (Chunk& chunk : work_.chunks) fill(chunk);
    for (const SweepPrompt& prompt : prompts_) {
      work_.naive_flops +=
          static_cast<double>(cells_.size()) *
          full_run_flops(config_, static_cast<std::int64_t>(prompt.row.ids.size()));
    }
    estimate_memory();
    return std::move(work_);
  }

 private:
  void route(std::size_t i);
  void find_needs();
  void cut_chunks();
  void fill(Chunk& chunk);
  void add_blocks(Chunk& chunk);
  void add_joined_blocks(Chunk& chunk, const std::map<int, std::vector<std::size_t>>& by_layer,
                         int place);
  void add_plain_blocks(Chunk& chunk, ResumePoint point, const std::vector<std::size_t>& list);
  std::int64_t rows_of_batch(const Chunk& chunk) const;
  std::vector<int> existing(const std::vector<std::size_t>& cells, int prompt) const;
  void add_waves(Chunk& chunk);
  void split_wave(Chunk& chunk, int first, std::vector<RowRef> rows);
  void estimate_memory();
  bool exists(std::size_t cell, int prompt) const {
    return exists_on(cells_[cell], prompts_[static_cast<std::size_t>(prompt)]);
  }
  int first_read(const SweepPrompt& prompt) const;
  std::int64_t columns() const {
    const bool few = settings_.metric == MetricChoice::logit_diff ||
                     settings_.metric == MetricChoice::label_logit;
    return few ? 2 : config_.d_vocab_out;
  }

  const ModelConfig& config_;
  const Model& model_;
  const std::vector<Cell>& cells_;
  const std::vector<SweepPrompt>& prompts_;
  const SweepSettings& settings_;
  bool causal_;
  SweepWork work_;
  std::map<std::vector<EditKey>, int> variant_of_;
};

void Planner::route(std::size_t i) {
  const Cell& cell = cells_[i];
  if (cell.edits.empty()) {
    throw Error(ErrorKind::input, "SW02", {.where = cell.name, .what = "a cell without an edit"});
  }
  for (const Edit& edit : cell.edits) check_edit(cell, edit, model_);
  CellRoute route = {.point = earliest_point(cell, config_)};
  const std::optional<Site> input = input_site(route.point.point);
  for (const Edit& edit : cell.edits) {
    const bool direct = edit.hook.site == input && edit.hook.layer == route.point.layer;
    route.tapped = route.tapped || !direct;
  }
  const std::optional<int> position =
      settings_.mode == SweepMode::fast ? lone_position(cell) : std::nullopt;
  if (position) {
    route.route = Route::wave;
    route.position = *position;
    const bool before_layer = route.point.point == LayerPoint::resid_pre && !route.tapped;
    route.enters = route.point.layer + (before_layer ? 0 : 1);
    const auto [found, added] =
        variant_of_.try_emplace(key_of(cell), static_cast<int>(work_.variants.size()));
    if (added) {
      Variant variant = {route.point, cell.edits};
      for (Edit& edit : variant.edits) edit.q_positions.clear();
      work_.variants.push_back(std::move(variant));
    }
    route.variant = found->second;
  }
  work_.routes.push_back(route);
}

void Planner::find_needs() {
  std::size_t n_donors = 0;
  for (const Cell& cell : cells_) {
    for (const Edit& edit : cell.edits) {
      if (edit.source != ValueSource::donor) continue;
      n_donors = std::max(n_donors, static_cast<std::size_t>(edit.donor) + 1);
    }
  }
  work_.needs.donor.resize(n_donors);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const CellRoute& route = work_.routes[i];
    const int layer = route.point.layer;
    const Site first = *input_site(route.point.point);
    work_.needs.clean.insert({first, layer});
    // A run from z also reads the residual that z is added to.
    if (first == Site::z) work_.needs.clean.insert({Site::resid_pre, layer});
    if (route.route == Route::wave) {
      const bool after_all = route.enters == config_.n_layers;
      const bool post = config_.placement == NormPlacement::post;
      if (!after_all) {
        work_.needs.clean.insert({Site::resid_pre, route.enters});
      } else {
        work_.needs.clean.insert(
            {post ? Site::normalized_resid_post : Site::resid_post, config_.n_layers - 1});
      }
    }
    for (const Edit& edit : cells_[i].edits) {
      if (edit.source == ValueSource::donor) {
        work_.needs.donor[static_cast<std::size_t>(edit.donor)].insert(edit.hook);
      }
    }
  }
  for (const SweepPrompt& prompt : prompts_) {
    if (prompt.donors.size() >= n_donors) continue;
    throw Error(ErrorKind::input, "SW03",
                {.where = "sweep",
                 .what = "a prompt has no donor run",
                 .expected = count_of(static_cast<std::int64_t>(n_donors), "donor")});
  }
  for (const SweepPrompt& prompt : prompts_) {
    for (std::size_t d = 0; d < n_donors; ++d) {
      if (prompt.donors[d].ids.size() == prompt.row.ids.size()) continue;
      throw Error(ErrorKind::input, "SW04",
                  {.where = "sweep",
                   .what = "a prompt and its donor differ in length",
                   .expected = count_of(static_cast<std::int64_t>(prompt.row.ids.size()), "token"),
                   .got = std::to_string(prompt.donors[d].ids.size())});
    }
  }
}

// Prompts of one length together, in their order, as many as the kept values allow.
void Planner::cut_chunks() {
  std::map<int, std::vector<int>> by_length;
  for (std::size_t p = 0; p < prompts_.size(); ++p) {
    by_length[static_cast<int>(prompts_[p].row.ids.size())].push_back(static_cast<int>(p));
  }
  std::size_t kept = work_.needs.clean.size() + work_.variants.size();
  for (const std::set<HookId>& donor : work_.needs.donor) kept += donor.size();
  const std::size_t values = kept + 4 * static_cast<std::size_t>(config_.n_layers);
  for (const auto& [length, list] : by_length) {
    const double bytes = static_cast<double>(values) * length * config_.d_model * 4.0;
    // Runs with the shapes of the naive loop start from runs of one prompt.
    const double wanted = settings_.mode == SweepMode::fast ? kMostPromptsOfChunk : 1;
    const auto most = static_cast<std::size_t>(std::clamp(kChunkBytes / bytes, 1.0, wanted));
    for (std::size_t begin = 0; begin < list.size(); begin += most) {
      const std::size_t end = std::min(list.size(), begin + most);
      work_.chunks.push_back({.prompts = {list.begin() + static_cast<std::ptrdiff_t>(begin),
                                          list.begin() + static_cast<std::ptrdiff_t>(end)},
                              .length = length});
    }
  }
}

int Planner::first_read(const SweepPrompt& prompt) const {
  const auto n = static_cast<int>(prompt.row.ids.size());
  const std::vector<int>& at = prompt.target.at;
  if (settings_.metric == MetricChoice::loss) return n - 1;
  if (settings_.metric == MetricChoice::embedding_shift) return 0;
  if (at.empty()) return n - 1;
  int first = n;
  for (const int p : at) first = std::min(first, p < 0 ? n + p : p);
  return first;
}

void Planner::fill(Chunk& chunk) {
  add_blocks(chunk);
  add_waves(chunk);
  for (const int p : chunk.prompts) {
    const SweepPrompt& prompt = prompts_[static_cast<std::size_t>(p)];
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (!exists(i, p)) continue;
      const CellRoute& route = work_.routes[i];
      const bool suffix = route.route == Route::wave && causal_;
      if (suffix && route.position > last_read(prompt)) continue;
      chunk.flops += suffix_flops(
          config_,
          route.route == Route::wave ? ResumePoint{route.enters, LayerPoint::resid_pre}
                                     : route.point,
          {.length = chunk.length,
           .first = suffix ? std::min(route.position, first_read(prompt)) : 0,
           .reads = std::max<std::int64_t>(1, static_cast<std::int64_t>(prompt.target.at.size())),
           .columns = columns()});
    }
  }
}

std::int64_t Planner::rows_of_batch(const Chunk& chunk) const {
  if (settings_.mode != SweepMode::fast) return 1;
  return std::max<std::int64_t>(2, settings_.batch_tokens / chunk.length);
}

// The cells of a prompt that enter at one place.
std::vector<int> Planner::existing(const std::vector<std::size_t>& cells, int prompt) const {
  std::vector<int> here;
  for (const std::size_t i : cells) {
    if (exists(i, prompt)) here.push_back(static_cast<int>(i));
  }
  return here;
}

void Planner::add_blocks(Chunk& chunk) {
  std::map<std::pair<int, LayerPoint>, std::vector<std::size_t>> by_point;
  // Cells of several layers can share an untouched row, but for the last layer, which runs only
  // where it is read unless something in it is changed.
  std::map<int, std::vector<std::size_t>> by_layer;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const CellRoute& route = work_.routes[i];
    if (route.route != Route::block) continue;
    const bool joins = settings_.mode == SweepMode::fast && route.point.point == LayerPoint::z &&
                       route.point.layer < config_.n_layers - 1;
    if (joins) {
      by_layer[route.point.layer].push_back(i);
    } else {
      by_point[{route.point.layer, route.point.point}].push_back(i);
    }
  }
  for (int p = 0; p < static_cast<int>(chunk.prompts.size()); ++p) {
    add_joined_blocks(chunk, by_layer, p);
  }
  for (const auto& [key, list] : by_point) {
    add_plain_blocks(chunk, {key.first, key.second}, list);
  }
}

// Batches of one prompt: its untouched row, then the cells of one layer after the other.
void Planner::add_joined_blocks(Chunk& chunk,
                                const std::map<int, std::vector<std::size_t>>& by_layer,
                                int place) {
  if (by_layer.empty()) return;
  const std::int64_t most = rows_of_batch(chunk) - 1;
  std::vector<int> cells;
  for (const auto& [layer, list] : by_layer) {
    const std::vector<int> here = existing(list, chunk.prompts[static_cast<std::size_t>(place)]);
    cells.insert(cells.end(), here.begin(), here.end());
  }
  const auto count = static_cast<std::int64_t>(cells.size());
  const std::int64_t parts = (count + most - 1) / most;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = part * count / parts;
    const std::int64_t end = (part + 1) * count / parts;
    const int first = cells[static_cast<std::size_t>(begin)];
    BlockItem block = {work_.routes[static_cast<std::size_t>(first)].point, {{place, -1}}};
    for (std::int64_t i = begin; i < end; ++i) {
      block.rows.push_back({place, cells[static_cast<std::size_t>(i)]});
    }
    chunk.blocks.push_back(std::move(block));
  }
}

// Rows of a prompt stand behind its untouched row; a batch holds whole prompts where it can.
void Planner::add_plain_blocks(Chunk& chunk, ResumePoint point,
                               const std::vector<std::size_t>& list) {
  const bool fast = settings_.mode == SweepMode::fast;
  const std::int64_t room = rows_of_batch(chunk);
  BlockItem block = {point, {}};
  const auto finish = [&] {
    if (!block.rows.empty()) chunk.blocks.push_back(block);
    block.rows.clear();
  };
  for (int p = 0; p < static_cast<int>(chunk.prompts.size()); ++p) {
    const std::vector<int> here = existing(list, chunk.prompts[static_cast<std::size_t>(p)]);
    const auto n_cells = static_cast<std::int64_t>(here.size());
    const std::int64_t most = fast ? room - 1 : 1;
    const std::int64_t parts = (n_cells + most - 1) / most;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t begin = part * n_cells / parts;
      const std::int64_t end = (part + 1) * n_cells / parts;
      const auto held = static_cast<std::int64_t>(block.rows.size());
      if (held + end - begin + (fast ? 1 : 0) > room) finish();
      if (fast) block.rows.push_back({p, -1});
      for (std::int64_t i = begin; i < end; ++i) {
        block.rows.push_back({p, here[static_cast<std::size_t>(i)]});
      }
    }
  }
  finish();
}

void Planner::add_waves(Chunk& chunk) {
  // Rows by position; cells that a causal model cannot carry to the read position have no row.
  std::map<int, std::vector<RowRef>> by_position;
  int earliest_read = chunk.length;
  for (int p = 0; p < static_cast<int>(chunk.prompts.size()); ++p) {
    const SweepPrompt& prompt =
        prompts_[static_cast<std::size_t>(chunk.prompts[static_cast<std::size_t>(p)])];
    earliest_read = std::min(earliest_read, first_read(prompt));
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const CellRoute& route = work_.routes[i];
      if (route.route != Route::wave) continue;
      if (!exists(i, chunk.prompts[static_cast<std::size_t>(p)])) continue;
      if (causal_ && route.position > last_read(prompt)) continue;
      by_position[causal_ ? route.position : 0].push_back({p, static_cast<int>(i)});
    }
  }
  for (auto place = by_position.begin(); place != by_position.end();) {
    const int begin = place->first;
    std::vector<RowRef> rows;
    while (place != by_position.end()) {
      const bool close = place->first - begin <= (chunk.length - begin) / kPaddingShare;
      const auto running = static_cast<std::int64_t>(rows.size()) * (chunk.length - begin);
      if (!rows.empty() && !close && running >= kSmallProduct) break;
      rows.insert(rows.end(), place->second.begin(), place->second.end());
      ++place;
    }
    split_wave(chunk, std::min(begin, causal_ ? earliest_read : 0), std::move(rows));
  }
}

// Rows that enter behind the last layer make waves of their own; the others are cut into waves of
// equal size, by layer of entry.
void Planner::split_wave(Chunk& chunk, int first, std::vector<RowRef> rows) {
  const auto enters = [this](const RowRef& row) {
    return work_.routes[static_cast<std::size_t>(row.cell)].enters;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const RowRef& a, const RowRef& b) { return enters(a) < enters(b); });
  const auto behind = std::find_if(
      rows.begin(), rows.end(), [&](const RowRef& row) { return enters(row) == config_.n_layers; });
  const auto cut = [&](std::vector<RowRef>::iterator begin, std::vector<RowRef>::iterator end) {
    const std::int64_t count = end - begin;
    if (count == 0) return;
    const std::int64_t most =
        std::max<std::int64_t>(1, settings_.batch_tokens / (chunk.length - first));
    const std::int64_t parts = (count + most - 1) / most;
    for (std::int64_t i = 0; i < parts; ++i) {
      chunk.waves.push_back({first, {begin + i * count / parts, begin + (i + 1) * count / parts}});
    }
  };
  cut(rows.begin(), behind);
  cut(behind, rows.end());
}

// Kept values, keys and values, and the widest layer of one batch a worker.
void Planner::estimate_memory() {
  double kept = 0;
  double batch = 0;
  for (const Chunk& chunk : work_.chunks) {
    const double tokens = static_cast<double>(chunk.prompts.size()) * chunk.length;
    std::size_t hooks = work_.needs.clean.size() + work_.variants.size() +
                        3 * static_cast<std::size_t>(config_.n_layers);
    for (const std::set<HookId>& donor : work_.needs.donor) hooks += donor.size();
    kept = std::max(kept, static_cast<double>(hooks) * tokens * config_.d_model);
    std::size_t rows = 1;
    for (const BlockItem& block : chunk.blocks) rows = std::max(rows, block.rows.size());
    for (const WaveItem& wave : chunk.waves) rows = std::max(rows, wave.rows.size() + 1);
    const LayerConfig& layer = config_.layers[0];
    // Both branches of a gated MLP are one product of twice the width; measured, like the rest.
    const double mlp_values = config_.mlp == MlpKind::gated ? 6 : 4;
    const double width = 6.0 * config_.d_model + mlp_values * layer.d_mlp +
                         3.0 * layer.attention.n_heads * layer.attention.d_head;
    const double maps = static_cast<double>(rows) * layer.attention.n_heads * chunk.length *
                        std::min(chunk.length, 128);
    batch = std::max(batch, static_cast<double>(rows) * chunk.length * width + maps);
  }
  constexpr double kBytes = 4;
  work_.memory_bytes =
      static_cast<std::uint64_t>(kBytes * (kept + batch * std::max(1, settings_.workers)));
}

}  // namespace

int last_read(const SweepPrompt& prompt) {
  const auto n = static_cast<int>(prompt.row.ids.size());
  const std::vector<int>& at = prompt.target.at;
  if (at.empty()) return n - 1;
  int last = 0;
  for (const int p : at) last = std::max(last, p < 0 ? n + p : p);
  return last;
}

bool exists_on(const Cell& cell, const SweepPrompt& prompt) {
  const auto n = static_cast<int>(prompt.row.ids.size());
  const auto inside = [n](const std::vector<int>& positions) {
    return std::all_of(positions.begin(), positions.end(), [n](int p) { return p < n && p >= -n; });
  };
  const auto is_there = [&](int set) {
    return set < 0 || !prompt.position_sets[static_cast<std::size_t>(set)].empty();
  };
  return std::all_of(cell.edits.begin(), cell.edits.end(), [&](const Edit& edit) {
    return inside(edit.q_positions) && inside(edit.k_positions) && is_there(edit.q_set) &&
           is_there(edit.k_set);
  });
}

bool is_causal(const ModelConfig& config) {
  return std::all_of(config.layers.begin(), config.layers.end(), [](const LayerConfig& layer) {
    return layer.attention.mask == MaskKind::causal;
  });
}

SweepWork plan_work(const Model& model, const std::vector<Cell>& cells,
                    const std::vector<SweepPrompt>& prompts, const SweepSettings& settings) {
  return Planner(model, cells, prompts, settings).plan();
}

}  // namespace attnscope
