#include "layers.h"

namespace attnscope {

at::ScalarType accumulation_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor normalize(Run& run, const Norm& norm, const at::Tensor& x,
                     std::optional<NormSites> sites) {
  const at::Tensor wide = x.to(accumulation_type(x.scalar_type()));
  const bool layer_norm = run.config.norm == NormKind::layer_norm;
  const at::Tensor centred = layer_norm ? wide - wide.mean(-1, true) : wide;
  at::Tensor scale = centred.square().mean(-1, true).add(run.config.norm_eps).sqrt();
  if (sites) scale = run.tap(sites->scale, sites->layer, scale);
  at::Tensor normalized = centred / scale;
  if (sites) normalized = run.tap(sites->normalized, sites->layer, normalized);
  // Nobody else holds the quotient unless its site is used: memory that is warm is reused.
  const bool held = run.differentiable() || (sites && run.used(sites->normalized, sites->layer));
  at::Tensor y = held ? normalized * norm.gain : normalized.mul_(norm.gain);
  if (norm.bias.defined()) y = held ? y + norm.bias : y.add_(norm.bias);
  return y.to(x.scalar_type());
}

}  // namespace attnscope
