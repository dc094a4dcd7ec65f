// Weights by role, for experiments that read them.
#include "attnscope/model/model.h"
#include "weights.h"

namespace attnscope {
namespace {

at::Tensor by_role(const ModelWeights& weights, Role role, int layer) {
  const auto found = weights.by_role.find({role, layer});
  return found == weights.by_role.end() ? at::Tensor() : found->second;
}

// Rows of q, k or v in a fused projection: 0, 1 or 2.
at::Tensor fused_part(const LayerWeights& layer, const AttentionSpec& spec, const at::Tensor& fused,
                      int part) {
  if (!fused.defined()) return fused;
  const std::int64_t d = spec.d_head;
  if (layer.qkv_order == QkvOrder::per_head) {
    return fused.unflatten(0, {spec.n_heads, 3, d}).select(1, part).flatten(0, 1);
  }
  const std::int64_t q_rows = spec.n_heads * d;
  const std::int64_t kv_rows = spec.n_kv_heads * d;
  if (part == 0) return fused.narrow(0, 0, q_rows);
  return fused.narrow(0, q_rows + (part - 1) * kv_rows, kv_rows);
}

int part_of(Role role) {
  switch (role) {
    case Role::q_weight:
    case Role::q_bias:
      return 0;
    case Role::k_weight:
    case Role::k_bias:
      return 1;
    case Role::v_weight:
    case Role::v_bias:
      return 2;
    default:
      return -1;
  }
}

bool is_bias(Role role) {
  return role == Role::q_bias || role == Role::k_bias || role == Role::v_bias;
}

}  // namespace

at::Tensor Model::weight(Role role, int layer) const {
  const int distinct = layer < 0 ? layer : layer % weights_->config.n_distinct_layers;
  const at::Tensor stored = by_role(*weights_, role, distinct);
  if (stored.defined()) return stored;
  if (role == Role::head_weight) return weights_->head.weight;
  const int part = part_of(role);
  if (part < 0 || layer < 0) return {};
  const LayerWeights& weights = weights_->layer(layer);
  const AttentionSpec& spec = weights_->config.layers[static_cast<std::size_t>(layer)].attention;
  return fused_part(weights, spec, is_bias(role) ? weights.qkv.bias : weights.qkv.weight, part);
}

}  // namespace attnscope
