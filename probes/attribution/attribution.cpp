// Direct logit attribution: what every part adds to a direction of the logits.
#include "attnscope/probes/attribution.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "attnscope/support/error.h"
#include "frozen.h"

namespace attnscope {
namespace {

// Keeps one row's values at all positions, and maps of the queries that are read.
class PartRecorder final : public Observer {
 public:
  PartRecorder(std::vector<Site> sites, int first_query, int last_query)
      : sites_(std::move(sites)), first_query_(first_query), last_query_(last_query) {}

  Want want(HookId hook) const override {
    if (std::find(sites_.begin(), sites_.end(), hook.site) == sites_.end()) return Want::nothing();
    if (hook.site != Site::pattern) return Want::whole_value();
    return {.maps = true, .q_begin = first_query_, .q_end = last_query_ + 1};
  }
  void on_value(HookId hook, const at::Tensor& value, const Batch&) override {
    values_[hook] = wide(value[0]).clone();
  }
  void on_map_rows(HookId hook, const MapRows& rows, const Batch&) override {
    const at::Tensor block = wide(rows.values[0]).clone();  // [h q' k]
    at::Tensor& kept = values_[hook];
    kept = kept.defined() ? at::cat({kept, block}, 1) : block;
  }

  bool has(HookId hook) const { return values_.contains(hook); }
  const at::Tensor& value(HookId hook) const { return values_.at(hook); }

 private:
  std::vector<Site> sites_;
  int first_query_;
  int last_query_;
  std::map<HookId, at::Tensor> values_;
};

std::vector<int> absolute_positions(const AttributionRequest& request) {
  const auto length = static_cast<int>(request.row.ids.size());
  std::vector<int> positions;
  for (const int position : request.positions) {
    const int absolute = position < 0 ? length + position : position;
    if (absolute < 0 || absolute >= length) {
      throw Error(ErrorKind::input, "AT01",
                  {.where = "attribution",
                   .what = "position " + std::to_string(position) + " does not exist",
                   .expected = "a position below " + std::to_string(length)});
    }
    positions.push_back(absolute);
  }
  return positions;
}

void check_request(const AttributionRequest& request) {
  const std::size_t n = request.directions.size();
  bool fits = !request.positions.empty() && (n == 1 || n == request.positions.size());
  for (const LogitDirection& direction : request.directions) {
    fits =
        fits && !direction.columns.empty() && direction.columns.size() == direction.weights.size();
  }
  if (fits) return;
  throw Error(ErrorKind::internal, "AT05",
              {.where = "attribution", .what = "positions and directions do not fit together"});
}

// All columns that some direction names, and each position's weights on them.
struct Weighting {
  std::vector<std::int64_t> columns;
  at::Tensor weights;  // [p c]
};

Weighting weighting_of(const AttributionRequest& request, const at::TensorOptions& options) {
  Weighting result;
  for (const LogitDirection& direction : request.directions) {
    result.columns.insert(result.columns.end(), direction.columns.begin(), direction.columns.end());
  }
  std::sort(result.columns.begin(), result.columns.end());
  result.columns.erase(std::unique(result.columns.begin(), result.columns.end()),
                       result.columns.end());
  const auto p = static_cast<std::int64_t>(request.positions.size());
  const auto c = static_cast<std::int64_t>(result.columns.size());
  at::Tensor weights = at::zeros({p, c}, at::kDouble);
  for (std::int64_t i = 0; i < p; ++i) {
    const LogitDirection& direction =
        request.directions[request.directions.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    for (std::size_t j = 0; j < direction.columns.size(); ++j) {
      const auto column =
          std::lower_bound(result.columns.begin(), result.columns.end(), direction.columns[j]) -
          result.columns.begin();
      weights[i][column] += direction.weights[j];
    }
  }
  result.weights = weights.to(options);
  return result;
}

// The parts of one run as the positions' directions see them.
class Attributor {
 public:
  Attributor(const Model& model, const PartRecorder& parts, const FrozenReads& reads,
             at::Tensor direction, std::vector<int> positions)
      : model_(model),
        config_(model.config()),
        parts_(parts),
        reads_(reads),
        direction_(std::move(direction)),
        positions_(std::move(positions)),
        slots_(at::tensor(std::vector<std::int64_t>(positions_.begin(), positions_.end()),
                          at::TensorOptions(at::kLong))
                   .to(direction_.device())) {}

  // Σ_m value · direction, of a value [q m] that is added to the stream.
  at::Tensor of_value(HookId hook) const {
    return (parts_.value(hook).index_select(0, slots_) * direction_).sum(-1);
  }

  at::Tensor of_positions() const {
    const bool separate = parts_.has({Site::pos_embed}) && !config_.embed_norm &&
                          !model_.weight(Role::embed_projection).defined();
    return separate ? of_value({Site::pos_embed}) : at::zeros_like(of_value({Site::resid_pre, 0}));
  }

  // The direction as the heads of a layer see it, behind their output projection [p h d].
  at::Tensor of_heads(int layer) const {
    return at::einsum("pm,hdm->phd", {branch_direction(layer), output_by_head(model_, layer)});
  }

  at::Tensor of_attention_bias(int layer) const {
    at::Tensor sum = at::zeros({direction_.size(0)}, direction_.options());
    const at::Tensor bias = wide_weight(model_, Role::o_bias, layer);
    if (bias.defined()) sum = sum + branch_direction(layer).mv(bias);
    const at::Tensor norm_bias = wide_weight(model_, Role::ln1_post_bias, layer);
    if (norm_bias.defined()) sum = sum + direction_.mv(norm_bias) * config_.residual_multiplier;
    return sum;
  }

  // α_ij · v_j seen by the direction [p h k]; kv heads repeat for their query heads.
  at::Tensor of_sources(int layer, const at::Tensor& head_direction) const {
    const AttentionSpec& spec = config_.layers[static_cast<std::size_t>(layer)].attention;
    const at::Tensor v = parts_.value({Site::v, layer})
                             .repeat_interleave(spec.n_heads / spec.n_kv_heads, 1);  // [k h d]
    const at::Tensor pattern = parts_.value({Site::pattern, layer})
                                   .index_select(1, slots_ - first_query())
                                   .permute({1, 0, 2});  // [p h k]
    return pattern.to(v.scalar_type()) * at::einsum("khd,phd->phk", {v, head_direction});
  }

  at::Tensor z(int layer) const {
    return parts_.value({Site::z, layer}).index_select(0, slots_);  // [p h d]
  }

 private:
  // What the output projection's result must be multiplied with [p m]: the direction pulled back
  // through the norm behind attention and the residual multiplier.
  at::Tensor branch_direction(int layer) const {
    at::Tensor direction = direction_ * config_.residual_multiplier;
    if (reads_.attn_scale.empty()) return direction;
    direction = direction * gain_of(model_, Role::ln1_post_weight, layer);
    return centred(config_, direction) / reads_.attn_scale[static_cast<std::size_t>(layer)];
  }
  int first_query() const { return *std::min_element(positions_.begin(), positions_.end()); }

  const Model& model_;
  const ModelConfig& config_;
  const PartRecorder& parts_;
  const FrozenReads& reads_;
  at::Tensor direction_;  // [p m]
  std::vector<int> positions_;
  at::Tensor slots_;  // [p]
};

}  // namespace

std::string attribution_obstacle(const ModelConfig& config) {
  if (is_post_norm(config)) {
    return "logits are no sum over parts in a post-norm model: every norm rescales the whole "
           "stream";
  }
  const bool linear =
      config.head == HeadKind::language_model ||
      (config.head == HeadKind::classifier && config.classifier != ClassifierKind::pooled_tanh &&
       config.classifier != ClassifierKind::pooled_relu);
  if (linear) return "";
  return config.head == HeadKind::none
             ? "the model has no head, so it has no logits"
             : "the model's head has a hidden layer, so logits are no sum";
}

Attribution attribute_logits(const Model& model, const AttributionRequest& request) {
  const ModelConfig& config = model.config();
  if (const std::string obstacle = attribution_obstacle(config); !obstacle.empty()) {
    throw Error(ErrorKind::input, "AT02", {.where = config.name, .what = obstacle});
  }
  check_request(request);
  const std::vector<int> positions = absolute_positions(request);
  const auto [first, last] = std::minmax_element(positions.begin(), positions.end());
  const bool split = request.sources == SourceSplit::on;

  std::vector<ReadPoint> points;
  for (const int position : positions) points.push_back({.row = 0, .position = position});
  ReadRecorder recorder(model, points);
  std::vector<Site> sites = {Site::pos_embed, Site::resid_pre, Site::z, Site::mlp_out};
  if (split) sites.insert(sites.end(), {Site::v, Site::pattern});
  PartRecorder parts(sites, *first, *last);
  Taps taps;
  taps.observers = {&recorder, &parts};
  RunOptions options;
  options.logits.at = LogitsAt::none;
  model.run(make_batch({request.row}), taps, options);

  const FrozenReads reads = recorder.take();
  const Weighting weighting = weighting_of(request, reads.residual.options());
  const DirectPath path(model, reads, weighting.columns);
  const auto weighted = [&](const at::Tensor& by_column) {  // [p c] → [p]
    return (by_column * weighting.weights).sum(-1);
  };
  const at::Tensor direction = at::einsum("pc,pcm->pm", {weighting.weights, path.directions()});
  const Attributor attributor(model, parts, reads, direction, positions);

  int n_heads = 0;
  for (const LayerConfig& layer : config.layers) {
    n_heads = std::max(n_heads, layer.attention.n_heads);
  }
  const auto p = static_cast<std::int64_t>(positions.size());
  const auto k = static_cast<std::int64_t>(request.row.ids.size());
  const at::TensorOptions like = direction.options();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Attribution result;
  result.total = weighted(path.raw_outputs());
  result.constant = weighted(path.constant());
  result.position = attributor.of_positions();
  result.embedding = attributor.of_value({Site::resid_pre, 0}) - result.position;
  result.heads = at::full({config.n_layers, n_heads, p}, nan, like);
  if (split) result.sources = at::full({config.n_layers, n_heads, p, k}, nan, like);
  result.attention_bias = at::zeros({config.n_layers, p}, like);
  result.mlp = at::zeros({config.n_layers, p}, like);
  for (int layer = 0; layer < config.n_layers; ++layer) {
    const at::Tensor head_direction = attributor.of_heads(layer);
    const at::Tensor heads = (attributor.z(layer) * head_direction).sum(-1);  // [p h]
    result.heads[layer].narrow(0, 0, heads.size(1)).copy_(heads.t());
    if (split) {
      const at::Tensor sources = attributor.of_sources(layer, head_direction);
      result.sources[layer].narrow(0, 0, heads.size(1)).copy_(sources.transpose(0, 1));
    }
    result.attention_bias[layer].copy_(attributor.of_attention_bias(layer));
    if (config.mlp != MlpKind::none) {
      result.mlp[layer].copy_(attributor.of_value({Site::mlp_out, layer}));
    }
  }
  return result;
}

}  // namespace attnscope
