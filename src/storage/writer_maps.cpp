// Attention maps, their statistics and pyramids.
#include <algorithm>
#include <limits>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "writer_state.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

constexpr std::int64_t kOverviewCells = 64;

const char* row_sum_name(RowSum sum) {
  switch (sum) {
    case RowSum::one:
      return "one";
    case RowSum::sink:
      return "sink";
    case RowSum::free:
      break;
  }
  return "free";
}

h5::DatasetSpec map_dataset(const MapSpec& spec, const TileGrid& grid) {
  const auto u = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const h5::Scalar scalar = spec.dtype == MapDType::f16 ? h5::Scalar::f16 : h5::Scalar::f32;
  return {.type = h5::Type::of(scalar),
          .dims = {u(spec.heads), u(spec.queries), u(spec.keys)},
          .chunk = {u(grid.tile_heads()), u(grid.tile_queries()), u(grid.tile_keys())},
          .filters = h5::Filters::shuffle_deflate,
          .fill = spec.kind == MapKind::scores ? h5::Fill::minus_infinity : h5::Fill::zero};
}

// `layer` values of h heads, padded to H heads with NaN, or 0 for integers.
template <typename T>
std::vector<T> padded_heads(std::span<const T> values, std::int64_t n_heads, std::int64_t heads,
                            std::int64_t per_head) {
  std::vector<T> out(static_cast<std::size_t>(heads * per_head));
  if constexpr (std::is_floating_point_v<T>) {
    std::fill(out.begin(), out.end(), std::numeric_limits<T>::quiet_NaN());
  } else if constexpr (std::is_signed_v<T>) {
    std::fill(out.begin(), out.end(), T{-1});
  }
  if (static_cast<std::int64_t>(values.size()) != n_heads * per_head) {
    misuse("attention statistics", "a table has the wrong number of values",
           std::to_string(n_heads * per_head), std::to_string(values.size()));
  }
  std::copy(values.begin(), values.end(), out.begin());
  return out;
}

}  // namespace

int CaptureWriter::open_map(int prompt, HookId hook, const MapSpec& spec) {
  State& s = *state_;
  s.require_prompt(prompt);
  if (spec.heads < 1 || spec.queries < 1 || spec.keys < 1) {
    misuse(hook_name(hook), "an empty map", "at least one head, query and key", "none");
  }
  if (spec.kind == MapKind::scores && spec.dtype != MapDType::f32) {
    misuse(hook_name(hook), "scores are stored exactly", "f32", map_dtype_name(spec.dtype));
  }
  if (spec.dtype == MapDType::r7) {
    misuse(hook_name(hook), "only pyramids are stored with 7 bits", "r10, f32 or f16", "r7");
  }
  TileGrid grid(spec);
  h5::Group cache = s.cache_group(prompt);
  h5::Dataset dataset = cache.create_dataset(hook_name(hook), map_dataset(spec, grid));
  set_labels(dataset, {site_label(hook), hook.layer, stored_dims(hook.site, s.options.layout)});
  set_subset(dataset, spec.subset);
  dataset.set_integer("causal", spec.causal ? 1 : 0);
  dataset.set_integer("window", spec.window);
  dataset.set_text("map_dtype", map_dtype_name(spec.dtype));
  dataset.set_number("floor", spec.floor == Floor::on ? kMapFloor : 0);
  dataset.set_text("row_sum", row_sum_name(spec.row_sum));
  s.maps.emplace(s.next_handle, OpenMap{std::move(dataset), std::move(grid)});
  return s.next_handle++;
}

int CaptureWriter::open_pyramid(int prompt, const PyramidLevel& level, const MapSpec& map) {
  State& s = *state_;
  s.require_prompt(prompt);
  const std::vector<std::int64_t> factors = pyramid_factors(map);
  if (std::find(factors.begin(), factors.end(), level.factor) == factors.end()) {
    misuse("pyramid", "the map has no such level", "one of pyramid_factors()",
           std::to_string(level.factor));
  }
  const MapSpec spec = pyramid_map(map, level.factor);
  TileGrid grid(spec);
  h5::Group group =
      s.prompt_group(prompt).require_group(std::string("attention/") + stack_name(level.stack) +
                                           "/pyramid/" + std::to_string(level.layer));
  const std::string name =
      std::string(level.pooling == Pooling::max ? "max_" : "mean_") + std::to_string(level.factor);
  h5::Dataset dataset = group.create_dataset(name, map_dataset(spec, grid));
  set_labels(dataset, {"attn.hook_pattern", static_cast<int>(level.layer), {"h", "q", "k"}});
  s.maps.emplace(s.next_handle, OpenMap{std::move(dataset), std::move(grid)});
  return s.next_handle++;
}

void CaptureWriter::write_tile(int map, const Tile& tile, const StoredChunk& chunk) {
  const auto found = state_->maps.find(map);
  if (found == state_->maps.end()) misuse("write_tile", "no such open map", "", "");
  found->second.dataset.write_chunk(
      {static_cast<std::uint64_t>(tile.head), static_cast<std::uint64_t>(tile.query),
       static_cast<std::uint64_t>(tile.key)},
      chunk.filter_mask, chunk.bytes);
}

void CaptureWriter::close_map(int map) {
  const auto found = state_->maps.find(map);
  if (found == state_->maps.end()) misuse("close_map", "no such open map", "", "");
  OpenMap& open = found->second;
  for (const Tile& tile : open.grid.tiles()) {
    const h5::Dims at{static_cast<std::uint64_t>(tile.head), static_cast<std::uint64_t>(tile.query),
                      static_cast<std::uint64_t>(tile.key)};
    if (open.dataset.chunk_bytes(at) == 0) {
      misuse(open.dataset.path(), "a tile was not written", "every tile of TileGrid::tiles()",
             "none at " + std::to_string(tile.head) + "," + std::to_string(tile.query) + "," +
                 std::to_string(tile.key));
    }
  }
  seal(open.dataset);
  state_->maps.erase(found);
}

int CaptureWriter::open_attention(int prompt, const AttentionPlan& plan) {
  State& s = *state_;
  s.require_prompt(prompt);
  OpenAttention open{
      .plan = plan, .prompt = prompt, .written = std::vector<bool>(plan.layers.size())};
  open.heads =
      plan.n_heads.empty() ? 0 : *std::max_element(plan.n_heads.begin(), plan.n_heads.end());
  if (plan.layers.empty() || plan.layers.size() != plan.n_heads.size() || open.heads < 1) {
    misuse("attention statistics", "no layers, or not one number of heads a layer", "", "");
  }
  const bool packed = s.options.layout == FileLayout::packed;
  if (packed && plan.detail == AttentionDetail::head_stats) {
    s.attentions.emplace(s.next_handle, std::move(open));
    return s.next_handle++;
  }
  const auto u = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t layers = plan.layers.size();
  const std::uint64_t heads = u(open.heads);
  h5::Group group =
      s.prompt_group(prompt).require_group("attention").create_group(stack_name(plan.stack));
  const Labels by_layer{"attention", -1, {"l"}};
  const TableSpec list{.type = h5::Type::of(h5::Scalar::i64), .dims = {layers}};
  put_table(group, "layers", list, by_layer, bytes_of(plan.layers), s.compressor);
  put_table(group, "n_heads", list, by_layer, bytes_of(plan.n_heads), s.compressor);
  const auto add = [&](const std::string& name, h5::Scalar scalar, h5::Dims rest,
                       const std::string& labels) -> h5::Dataset& {
    h5::Dims dims{layers, heads};
    dims.insert(dims.end(), rest.begin(), rest.end());
    return open.tables[name] = create_table(
               group, name, {.type = h5::Type::of(scalar), .dims = dims, .by_block = true},
               {"attn.hook_pattern", -1, split(labels, ' ')});
  };
  add("head_stats", h5::Scalar::f32, {plan.head_stats.size()}, "l h s")
      .set_texts("names", plan.head_stats);
  if (plan.detail == AttentionDetail::all) {
    const std::uint64_t q = u(plan.queries);
    const std::uint64_t k = u(plan.keys);
    const std::uint64_t top = u(plan.top_k);
    add("row_stats", h5::Scalar::f32, {q, plan.row_stats.size()}, "l h q r")
        .set_texts("names", plan.row_stats);
    add("topk_index", h5::Scalar::i32, {q, top}, "l h q top");
    add("topk_value", h5::Scalar::f32, {q, top}, "l h q top");
    add("key_sum", h5::Scalar::f32, {k}, "l h k");
    add("value_norm", h5::Scalar::f32, {k}, "l h k");
    add("overview", h5::Scalar::u8,
        {u(std::min(kOverviewCells, plan.queries)), u(std::min(kOverviewCells, plan.keys))},
        "l h a b");
  }
  s.attentions.emplace(s.next_handle, std::move(open));
  return s.next_handle++;
}

void CaptureWriter::write_attention(int attention, std::int64_t slot, const AttentionLayer& layer) {
  State& s = *state_;
  const auto found = s.attentions.find(attention);
  if (found == s.attentions.end()) misuse("write_attention", "no such open table", "", "");
  OpenAttention& open = found->second;
  const AttentionPlan& plan = open.plan;
  const auto index = static_cast<std::size_t>(slot);
  if (slot < 0 || index >= plan.layers.size() || open.written[index]) {
    misuse("write_attention", "a slot out of range or written twice", "", std::to_string(slot));
  }
  open.written[index] = true;
  const std::int64_t h = plan.n_heads[index];
  const auto put = [&](const std::string& name, auto values, std::int64_t per_head) {
    const auto padded = padded_heads(values, h, open.heads, per_head);
    const auto table = open.tables.find(name);
    if (table == open.tables.end()) return s.write_packed_head_stats(open, bytes_of(padded), slot);
    write_block(table->second, index, bytes_of(padded), s.compressor);
  };
  put("head_stats", layer.head_stats, static_cast<std::int64_t>(plan.head_stats.size()));
  if (plan.detail == AttentionDetail::head_stats) return;
  put("row_stats", layer.row_stats,
      plan.queries * static_cast<std::int64_t>(plan.row_stats.size()));
  put("topk_index", layer.topk_index, plan.queries * plan.top_k);
  put("topk_value", layer.topk_value, plan.queries * plan.top_k);
  put("key_sum", layer.key_sum, plan.keys);
  put("value_norm", layer.value_norm, plan.keys);
  put("overview", layer.overview,
      std::min(kOverviewCells, plan.queries) * std::min(kOverviewCells, plan.keys));
  // The packed table of all prompts has them too.
  if (s.options.layout == FileLayout::packed) {
    const auto stats = padded_heads(layer.head_stats, h, open.heads,
                                    static_cast<std::int64_t>(plan.head_stats.size()));
    s.write_packed_head_stats(open, bytes_of(stats), slot);
  }
}

void CaptureWriter::close_attention(int attention) {
  State& s = *state_;
  const auto found = s.attentions.find(attention);
  if (found == s.attentions.end()) misuse("close_attention", "no such open table", "", "");
  OpenAttention& open = found->second;
  if (std::find(open.written.begin(), open.written.end(), false) != open.written.end()) {
    misuse("attention statistics", "a layer was not written", "one call a layer", "fewer");
  }
  for (auto& [name, table] : open.tables) seal(table);
  s.attentions.erase(found);
}

}  // namespace attnscope
