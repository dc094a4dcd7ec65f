#include "frozen.h"

#include <ATen/ATen.h>

namespace attnscope {

at::Tensor wide(const at::Tensor& x) {
  return x.to(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
}

at::Tensor wide_weight(const Model& model, Role role, int layer) {
  const at::Tensor weight = model.weight(role, layer);
  return weight.defined() ? wide(weight) : weight;
}

at::Tensor gain_of(const Model& model, Role role, int layer) {
  const at::Tensor gain = wide_weight(model, role, layer);
  const double offset = model.config().norm_weight_offset;
  return offset == 0 ? gain : gain + offset;
}

bool has_norms(const ModelConfig& config) {
  return config.norm != NormKind::none && config.placement != NormPlacement::none;
}

bool is_post_norm(const ModelConfig& config) {
  return has_norms(config) && config.placement == NormPlacement::post;
}

bool is_sandwich(const ModelConfig& config) {
  return has_norms(config) && config.placement == NormPlacement::sandwich;
}

bool has_final_norm(const ModelConfig& config) {
  return config.final_norm && config.norm != NormKind::none;
}

at::Tensor centred(const ModelConfig& config, const at::Tensor& x) {
  return config.norm == NormKind::layer_norm ? x - x.mean(-1, true) : x;
}

at::Tensor norm_scale(const ModelConfig& config, const at::Tensor& x) {
  return centred(config, x).square().mean(-1, true).add(config.norm_eps).sqrt();
}

at::Tensor output_by_head(const Model& model, int layer) {
  const AttentionSpec& spec = model.config().layers[static_cast<std::size_t>(layer)].attention;
  return wide_weight(model, Role::o_weight, layer)
      .unflatten(1, {spec.n_heads, spec.d_head})
      .permute({1, 2, 0});
}

HookId end_of_stream(const ModelConfig& config) {
  const int last = config.n_layers - 1;
  if (!is_post_norm(config)) return {Site::resid_post, last};
  return {config.mlp == MlpKind::none ? Site::normalized_resid_mid : Site::normalized_resid_post,
          last};
}

}  // namespace attnscope
