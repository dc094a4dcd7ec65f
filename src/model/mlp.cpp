#include "elementwise.h"
#include "layers.h"

namespace attnscope {

at::Tensor activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::relu:
      return at::relu(x);
    case Activation::gelu:
      return elementwise(x, [](const at::Tensor& y) { return at::gelu(y, "none"); });
    case Activation::gelu_tanh:
      return elementwise(x, [](const at::Tensor& y) { return at::gelu(y, "tanh"); });
    case Activation::silu:
      return elementwise(x, [](const at::Tensor& y) { return at::silu(y); });
    case Activation::identity:
      return x;
  }
  return x;
}

at::Tensor soft_cap(const at::Tensor& x, double cap) {
  return elementwise(x, [cap](const at::Tensor& y) { return at::tanh(y / cap) * cap; });
}

at::Tensor mlp(Run& run, int layer, const at::Tensor& x) {
  const LayerWeights& weights = run.model.layer(layer);
  const at::Tensor in = weights.mlp_in(x);
  at::Tensor post;
  if (run.config.mlp == MlpKind::gated) {
    // The gate and the linear branch come from one product, side by side.
    const std::int64_t width = in.size(-1) / 2;
    const at::Tensor pre = run.tap(Site::mlp_pre, layer, in.narrow(-1, 0, width));
    const at::Tensor linear = run.tap(Site::mlp_pre_linear, layer, in.narrow(-1, width, width));
    post = activate(run.config.activation, pre);
    const bool fresh = !run.differentiable() && run.config.activation != Activation::identity;
    post = fresh ? post.mul_(linear) : post * linear;
  } else {
    post = activate(run.config.activation, run.tap(Site::mlp_pre, layer, in));
  }
  post = run.tap(Site::mlp_post, layer, post);
  return weights.mlp_out(post);
}

}  // namespace attnscope
