#include "cost.h"

namespace attnscope {
namespace {

// Weights of a layer that one position touches.
struct LayerWeightsCount {
  double q = 0, kv = 0, o = 0, mlp = 0;
  double all() const { return q + kv + o + mlp; }
};

LayerWeightsCount weights_of(const ModelConfig& config, int layer) {
  const LayerConfig& spec = config.layers[static_cast<std::size_t>(layer)];
  const double m = config.d_model;
  const double heads = spec.attention.n_heads;
  const double kv_heads = spec.attention.n_kv_heads;
  const double d = spec.attention.d_head;
  const double f = spec.d_mlp;
  LayerWeightsCount count = {m * heads * d, 2 * m * kv_heads * d, heads * d * m, 0};
  if (config.mlp == MlpKind::plain) count.mlp = 2 * m * f;
  if (config.mlp == MlpKind::gated) count.mlp = 3 * m * f;
  return count;
}

// Multiply-adds × 2 of q·k and pattern·v for the queries [first, length).
double attention_flops(const ModelConfig& config, int layer, double first, double length) {
  const AttentionSpec& spec = config.layers[static_cast<std::size_t>(layer)].attention;
  double pairs = (length - first) * length;
  if (spec.mask == MaskKind::causal) {
    pairs = (length * (length + 1) - first * (first + 1)) / 2;
  }
  return 4.0 * spec.n_heads * spec.d_head * pairs;
}

double head_weights(const ModelConfig& config, double columns) {
  return static_cast<double>(config.d_model) * columns;
}

}  // namespace

double full_run_flops(const ModelConfig& config, std::int64_t length) {
  const auto n = static_cast<double>(length);
  double flops = 2 * n * head_weights(config, config.d_vocab_out);
  for (int l = 0; l < config.n_layers; ++l) {
    flops += 2 * n * weights_of(config, l).all() + attention_flops(config, l, 0, n);
  }
  return flops;
}

double suffix_flops(const ModelConfig& config, ResumePoint point, const RunShape& shape) {
  const auto length = static_cast<double>(shape.length);
  const auto first = static_cast<double>(shape.first);
  const auto reads = static_cast<double>(shape.reads);
  double flops = 2 * reads * head_weights(config, static_cast<double>(shape.columns));
  for (int l = point.layer; l < config.n_layers; ++l) {
    LayerWeightsCount weights = weights_of(config, l);
    const bool entry = l == point.layer;
    const bool last = l == config.n_layers - 1;
    double attention = attention_flops(config, l, last ? length - reads : first, length);
    if (entry && point.point >= LayerPoint::z) weights.q = weights.kv = attention = 0;
    if (entry && point.point >= LayerPoint::resid_mid) weights.o = 0;
    if (entry && point.point >= LayerPoint::resid_post) weights.mlp = 0;
    const double rest = weights.q + weights.o + weights.mlp;
    flops += 2 * weights.kv * (length - first) + 2 * rest * (last ? reads : length - first);
    flops += attention;
  }
  return flops;
}

}  // namespace attnscope
