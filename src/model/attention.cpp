// Attention of one layer: projections, rotation, the choice of engine, the output projection.
#include "attention.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "attnscope/model/engine_rule.h"
#include "attnscope/support/error.h"
#include "layers.h"

namespace attnscope {
namespace {

// Above this many queries a mask tensor costs more than explicit blocks.
constexpr int kLongestMask = 512;

const AttentionSpec& spec_of(const Run& run, int layer) {
  return run.config.layers[static_cast<std::size_t>(layer)].attention;
}

Heads split_projection(const LayerWeights& weights, const AttentionSpec& spec,
                       const at::Tensor& fused) {
  const std::int64_t d = spec.d_head;
  const std::int64_t n_q = spec.n_heads;
  const std::int64_t n_kv = spec.n_kv_heads;
  if (weights.qkv_order == QkvOrder::per_head) {
    const at::Tensor per_head = fused.unflatten(-1, {n_q, 3, d});
    return {per_head.select(-2, 0), per_head.select(-2, 1), per_head.select(-2, 2)};
  }
  return {fused.narrow(-1, 0, n_q * d).unflatten(-1, {n_q, d}),
          fused.narrow(-1, n_q * d, n_kv * d).unflatten(-1, {n_kv, d}),
          fused.narrow(-1, (n_q + n_kv) * d, n_kv * d).unflatten(-1, {n_kv, d})};
}

// RMS norm of each head's vector.
at::Tensor norm_of_heads(const Run& run, const at::Tensor& x, const at::Tensor& gain) {
  const at::Tensor wide = x.to(gain.scalar_type());
  const at::Tensor scale = wide.square().mean(-1, true).add(run.config.norm_eps).sqrt();
  return (wide / scale * gain).to(x.scalar_type());
}

// Rows [begin, begin + count) of a projection's output.
Linear part_of(const Linear& linear, std::int64_t begin, std::int64_t count) {
  return {linear.weight.narrow(0, begin, count),
          linear.bias.defined() ? linear.bias.narrow(0, begin, count) : linear.bias};
}

// Queries only where the run reads.
Heads narrowed_projection(const Run& run, const LayerWeights& weights, const AttentionSpec& spec,
                          const at::Tensor& x) {
  if (weights.qkv_order == QkvOrder::per_head) {
    Heads heads = split_projection(weights, spec, weights.qkv(x));
    heads.q = run.read_rows(heads.q);
    return heads;
  }
  const std::int64_t d = spec.d_head;
  const std::int64_t q_rows = spec.n_heads * d;
  const std::int64_t kv_rows = spec.n_kv_heads * d;
  const at::Tensor q = part_of(weights.qkv, 0, q_rows)(run.read_rows(x));
  const at::Tensor kv = part_of(weights.qkv, q_rows, 2 * kv_rows)(x);
  return {q.unflatten(-1, {spec.n_heads, d}),
          kv.narrow(-1, 0, kv_rows).unflatten(-1, {spec.n_kv_heads, d}),
          kv.narrow(-1, kv_rows, kv_rows).unflatten(-1, {spec.n_kv_heads, d})};
}

RopeTable narrowed_table(const Run& run, const RopeTable& table) {
  if (!run.narrowed()) return table;
  const auto rows = static_cast<std::int64_t>(run.frames.size());
  const auto at_reads = [&](const at::Tensor& x) {
    return run.read_rows(x.expand({rows, -1, -1, -1}));
  };
  return {at_reads(table.cos), at_reads(table.sin)};
}

Heads project(Run& run, int layer, const at::Tensor& x) {
  const LayerWeights& weights = run.model.layer(layer);
  const AttentionSpec& spec = spec_of(run, layer);
  Heads heads = run.narrowed() ? narrowed_projection(run, weights, spec, x)
                               : split_projection(weights, spec, weights.qkv(x));
  heads.q = run.tap(Site::q, layer, heads.q);
  heads.k = run.tap(Site::k, layer, heads.k);
  heads.v = run.tap(Site::v, layer, heads.v);
  if (spec.qk_norm) {
    heads.q = norm_of_heads(run, heads.q, weights.q_norm);
    heads.k = norm_of_heads(run, heads.k, weights.k_norm);
  }
  if (spec.rotary) {
    const RopeTable& table = run.rope(layer);
    heads.q = run.tap(Site::rot_q, layer, rotate(heads.q, narrowed_table(run, table), spec.rope));
    heads.k = run.tap(Site::rot_k, layer, rotate(heads.k, table, spec.rope));
  }
  return heads;
}

// Keys [b k g d] in the order of their positions: the base's, then the row's own, then nothing.
at::Tensor join_base(const Run& run, const at::Tensor& base, const at::Tensor& own) {
  const Batch& base_batch = run.shared->base->batch;
  const std::vector<RowFrame>& rows = run.narrowed() ? run.key_frames : run.frames;
  at::Tensor joined =
      at::empty({own.size(0), run.n_keys(), own.size(2), own.size(3)}, own.options());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto b = static_cast<std::int64_t>(r);
    const int base_row = run.shared->base_row[r];
    const int start = base_batch.rows[static_cast<std::size_t>(base_row)].start;
    const int first = rows[r].first;
    const int end = first + rows[r].q_length;
    const at::Tensor row = joined.select(0, b);
    row.narrow(0, 0, first).copy_(base.select(0, base_row).narrow(0, start, first));
    row.narrow(0, first, rows[r].q_length).copy_(own.select(0, b).narrow(0, 0, rows[r].q_length));
    row.narrow(0, end, run.n_keys() - end).zero_();
  }
  return joined;
}

Heads with_base_keys(const Run& run, int layer, Heads heads) {
  if (run.shared == nullptr) return heads;
  const auto l = static_cast<std::size_t>(layer);
  heads.k = join_base(run, run.shared->base->rotated_k[l], heads.k);
  heads.v = join_base(run, run.shared->base->v[l], heads.v);
  return heads;
}

// What the observers of both map sites want of one layer.
struct MapDemand {
  bool changes = false;
  bool statistics = false;
  bool maps = false;    // of either site
  bool scores = false;  // maps of scores
  int top_k = 0;        // of the statistics
  std::set<int> heads;
  int q_begin = 0;
  int q_end = 0;
};

void add_listener(MapDemand& demand, const Want& want, int n_heads, int n_queries) {
  demand.statistics = demand.statistics || want.statistics;
  if (want.statistics) demand.top_k = std::max(demand.top_k, want.top_k);
  if (!want.maps) return;
  const int end = want.q_end < 0 ? n_queries : std::min(want.q_end, n_queries);
  demand.q_begin = demand.maps ? std::min(demand.q_begin, want.q_begin) : want.q_begin;
  demand.q_end = demand.maps ? std::max(demand.q_end, end) : end;
  demand.maps = true;
  if (want.heads.empty()) {
    for (int head = 0; head < n_heads; ++head) demand.heads.insert(head);
  }
  for (const int head : want.heads) {
    if (head >= 0 && head < n_heads) demand.heads.insert(head);
  }
}

MapDemand map_demand(const Run& run, int layer) {
  MapDemand demand;
  const int n_heads = spec_of(run, layer).n_heads;
  for (const Site site : {Site::attn_scores, Site::pattern}) {
    const HookUsers* users = run.taps.users(site, layer);
    if (users == nullptr) continue;
    demand.changes = demand.changes || users->changes();
    for (const Listener& listener : users->listeners) {
      demand.scores = demand.scores || (site == Site::attn_scores && listener.want.maps);
      add_listener(demand, listener.want, n_heads, run.n_queries());
    }
  }
  return demand;
}

// The same in the terms of the rule.
AttentionDemand demand_of(const Run& run, const MapDemand& maps) {
  AttentionDemand demand;
  demand.device = run.model.device;
  if (run.model.token_embedding.scalar_type() == at::kDouble) demand.value = ValueType::f64;
  demand.longest = run.n_keys();
  demand.statistics = maps.statistics;
  demand.top_k = maps.top_k;
  demand.maps = maps.maps;
  demand.scores = maps.scores;
  demand.changes = maps.changes;
  demand.gradients = run.differentiable();
  demand.pads_on_left = std::any_of(run.frames.begin(), run.frames.end(),
                                    [](const RowFrame& frame) { return frame.q_start != 0; });
  demand.resumed = run.shared != nullptr;
  return demand;
}

// Whether the maps that are wanted are so many that computing z from them is cheaper than a fused
// pass beside them.
bool most_maps(const Run& run, const AttentionSpec& spec, const MapDemand& demand) {
  if (!demand.maps) return false;
  const double wanted =
      static_cast<double>(demand.heads.size()) * std::max(0, demand.q_end - demand.q_begin);
  return 2 * wanted > static_cast<double>(spec.n_heads) * run.n_queries();
}

// Why a layer is not fused under `auto`; empty when it is.
std::string reason_against_fusion(const Run& run, const AttentionSpec& spec,
                                  const MapDemand& demand) {
  if (std::string obstacle = fusion_obstacle(spec, demand_of(run, demand)); !obstacle.empty()) {
    return obstacle;
  }
  if (demand.statistics) return "statistics are wanted";
  if (most_maps(run, spec, demand)) return "maps are wanted";
  if (needs_mask(run, spec) && run.n_queries() > kLongestMask) {
    return "a fused pass would need a large mask";
  }
  return "";
}

LayerEngine choose_engine(const Run& run, int layer, const MapDemand& maps) {
  const AttentionSpec& spec = spec_of(run, layer);
  const AttentionDemand demand = demand_of(run, maps);
  const Engine engine = run.options.engine;
  if (engine != Engine::automatic) {
    require_engine(engine, layer, spec, demand);
    return {engine, "asked for"};
  }
  const std::string reason = reason_against_fusion(run, spec, maps);
  if (reason.empty()) {
    return {Engine::aten, maps.maps ? "few maps are wanted" : "nothing is wanted of the maps"};
  }
  const Engine tiles = tiles_on(demand.device);
  const std::string obstacle = tile_obstacle(tiles, spec, demand);
  if (obstacle.empty()) return {tiles, reason};
  return {Engine::reference, obstacle};
}

MapRequest wanted_maps(const MapDemand& demand) {
  if (demand.q_begin >= demand.q_end) return {};
  return {{demand.heads.begin(), demand.heads.end()}, demand.q_begin, demand.q_end};
}

// The maps that are wanted beside a fused pass; they do not change what the run computes.
void show_wanted_maps(Run& run, int layer, const Heads& heads, const MapDemand& demand) {
  ExplicitRequest request = whole_layer(run, spec_of(run, layer));
  if (!demand.statistics) {
    if (!demand.maps || demand.q_begin >= demand.q_end) return;
    request.heads.assign(demand.heads.begin(), demand.heads.end());
    request.q_begin = demand.q_begin;
    request.q_end = demand.q_end;
  }
  request.output = ExplicitOutput::shown;
  explicit_attention(run, layer, heads, request);
}

// LibTorch's kernels for GPUs that hold no scores take no mask or no groups of heads, depending on
// the type, and heads of a multiple of 8 values; what they do not take falls to one that holds all
// scores. So the heads of a group get their own keys, and a mask comes with 512 queries at a time.
at::Tensor fused_in_linear_memory(Run& run, const AttentionSpec& spec, const Heads& heads) {
  const std::int64_t group = spec.n_heads / spec.n_kv_heads;
  const auto of_query_heads = [group](const at::Tensor& x) {
    return (group == 1 ? x : x.repeat_interleave(group, 2)).transpose(1, 2);
  };
  const at::Tensor q = heads.q.transpose(1, 2);  // [b h q d]
  const at::Tensor k = of_query_heads(heads.k);  // [b h k d]
  const at::Tensor v = of_query_heads(heads.v);
  constexpr double kNoDropout = 0;
  constexpr int kAlignedHead = 8;
  const bool masked = needs_mask(run, spec);
  const bool in_strips = run.n_queries() > kLongestMask && spec.d_head % kAlignedHead != 0;
  if (!masked && !in_strips) {
    const bool causal = spec.mask == MaskKind::causal && run.n_queries() > 1;
    return at::scaled_dot_product_attention(q, k, v, {}, kNoDropout, causal, spec.scale)
        .transpose(1, 2);
  }
  std::vector<at::Tensor> z;
  for (int begin = 0; begin < run.n_queries(); begin += kLongestMask) {
    const int end = std::min(begin + kLongestMask, run.n_queries());
    const auto [first, last] = keys_in_sight(run, spec, begin, end);
    const at::Tensor hidden = hidden_keys(run, spec, begin, end).narrow(3, first, last - first);
    // A pad sees no key, and a softmax of nothing would be NaN: it may look anywhere.
    const at::Tensor seen = hidden.logical_not().logical_or(hidden.all(-1, true));
    z.push_back(at::scaled_dot_product_attention(
        q.narrow(2, begin, end - begin), k.narrow(2, first, last - first),
        v.narrow(2, first, last - first), seen, kNoDropout, false, spec.scale));
  }
  return at::cat(z, 2).transpose(1, 2);
}

}  // namespace

ExplicitRequest whole_layer(const Run& run, const AttentionSpec& spec) {
  ExplicitRequest request;
  request.heads.resize(static_cast<std::size_t>(spec.n_heads));
  std::iota(request.heads.begin(), request.heads.end(), 0);
  request.q_end = run.n_queries();
  return request;
}

bool needs_mask(const Run& run, const AttentionSpec& spec) {
  if (run.shared != nullptr || run.narrowed()) {
    // A fused pass takes its queries for the first ones; one query that sees all keys needs no
    // mask.
    return run.n_queries() > 1 ||
           !std::all_of(run.frames.begin(), run.frames.end(), [&](const RowFrame& frame) {
             const KeyRange keys = frame.visible(frame.q_start, spec);
             return keys.begin == 0 && keys.end == run.n_keys();
           });
  }
  const bool causal = spec.mask == MaskKind::causal;
  const int length = run.batch.padded_length();
  if (spec.window > 0 && spec.window < length) return true;
  if (!run.batch.padded()) return false;
  // Pads on the right lie behind every real query of a causal model.
  const bool left_aligned = std::all_of(run.frames.begin(), run.frames.end(),
                                        [](const RowFrame& frame) { return frame.q_start == 0; });
  return !(causal && left_aligned);
}

KeyRange keys_in_sight(const Run& run, const AttentionSpec& spec, int q_begin, int q_end) {
  KeyRange all = {run.n_keys(), 0};
  for (const RowFrame& frame : run.frames) {
    for (const int slot : {q_begin, q_end - 1}) {
      const int real = std::clamp(slot, frame.q_start, frame.q_start + frame.q_length - 1);
      const KeyRange keys = frame.visible(real, spec);
      all = {std::min(all.begin, keys.begin), std::max(all.end, keys.end)};
    }
  }
  return all;
}

at::Tensor hidden_keys(const Run& run, const AttentionSpec& spec, int q_begin, int q_end) {
  const bool alike = !run.batch.padded() && run.shared == nullptr && !run.narrowed();
  const std::size_t rows = alike ? 1 : run.frames.size();
  const int n_keys = run.n_keys();
  at::Tensor hidden = at::ones({static_cast<std::int64_t>(rows), 1, q_end - q_begin, n_keys},
                               at::TensorOptions(at::kBool));
  bool* row = hidden.mutable_data_ptr<bool>();
  for (std::size_t b = 0; b < rows; ++b) {
    for (int q = q_begin; q < q_end; ++q, row += n_keys) {
      const KeyRange keys = run.frames[b].visible(q, spec);
      std::fill(row + keys.begin, row + keys.end, false);
    }
  }
  return hidden.to(run.model.device);
}

at::Tensor fused_attention(Run& run, int layer, const Heads& heads, FusedMemory memory) {
  const AttentionSpec& spec = spec_of(run, layer);
  if (memory == FusedMemory::linear) return fused_in_linear_memory(run, spec, heads);
  const bool masked = needs_mask(run, spec);
  std::optional<at::Tensor> mask;
  if (masked) mask = hidden_keys(run, spec, 0, run.n_queries()).logical_not();
  const bool causal = spec.mask == MaskKind::causal && !masked && run.n_queries() > 1;
  const bool grouped = spec.n_heads != spec.n_kv_heads;
  constexpr double kNoDropout = 0;
  return at::scaled_dot_product_attention(heads.q.transpose(1, 2), heads.k.transpose(1, 2),
                                          heads.v.transpose(1, 2), mask, kNoDropout, causal,
                                          spec.scale, grouped)
      .transpose(1, 2);
}

at::Tensor attention_heads(Run& run, int layer, const at::Tensor& x) {
  Heads heads = project(run, layer, x);
  if (run.recording) {
    run.recording->rotated_k.push_back(heads.k.contiguous());
    run.recording->v.push_back(heads.v.contiguous());
  }
  heads = with_base_keys(run, layer, std::move(heads));
  const MapDemand demand = map_demand(run, layer);
  const LayerEngine engine = choose_engine(run, layer, demand);
  run.result.engines.push_back(engine);
  if (engine.engine == Engine::reference) {
    return explicit_attention(run, layer, heads, whole_layer(run, spec_of(run, layer)));
  }
  if (engine.engine == Engine::cpu_tiled) {
    return tiled_attention(run, layer, heads, wanted_maps(demand));
  }
  if (engine.engine == Engine::cuda) {
    return cuda_attention(run, layer, heads, wanted_maps(demand));
  }
  at::Tensor z = fused_attention(run, layer, heads, FusedMemory::any);
  show_wanted_maps(run, layer, heads, demand);
  return z;
}

at::Tensor attention_output(Run& run, int layer, const at::Tensor& z) {
  const Linear& o = run.model.layer(layer).o;
  const HookUsers* users = run.taps.users(Site::result, layer);
  if (users == nullptr) return o(z.flatten(2));
  const AttentionSpec& spec = spec_of(run, layer);
  // W_O by head [h d m]; one product a head.
  const at::Tensor by_head = o.weight.t().unflatten(0, {spec.n_heads, spec.d_head});
  const at::Tensor z_by_head = z.flatten(0, 1).transpose(0, 1);  // [h b·q d]
  at::Tensor result =
      at::bmm(z_by_head, by_head).transpose(0, 1).unflatten(0, {z.size(0), z.size(1)});
  const bool changes = users->changes();
  result = run.tap(Site::result, layer, result);
  if (!changes) return o(z.flatten(2));
  const at::Tensor sum = result.sum(2);
  return o.bias.defined() ? sum + o.bias : sum;
}

at::Tensor value_norms(const Run& run, int layer, const at::Tensor& v) {
  const AttentionSpec& spec = spec_of(run, layer);
  const at::Tensor by_head =
      run.model.layer(layer).o.weight.t().unflatten(0, {spec.n_heads, spec.d_head}).to(at::kDouble);
  // ‖v W‖² = v (W Wᵀ) vᵀ: the [k h m] array of all head outputs is never made.
  const at::Tensor gram = at::bmm(by_head, by_head.transpose(1, 2));
  const std::int64_t group = spec.n_heads / spec.n_kv_heads;
  const at::Tensor values =
      v.to(at::kDouble).transpose(1, 2).repeat_interleave(group, 1);  // [b h k d]
  return (at::matmul(values, gram) * values).sum(-1).clamp_min(0).sqrt();
}

}  // namespace attnscope
