#include <ATen/Parallel.h>

#include <algorithm>

#include "elementwise.h"
#include "gelu_loop.h"
#include "layers.h"

namespace attnscope {
namespace {

// Values of a thread's share, at least.
constexpr std::int64_t kGrain = 32768;

at::Tensor gelu_tanh(const at::Tensor& x) {
  const bool plain = x.scalar_type() == at::kFloat && x.is_cpu() && !x.requires_grad();
  if (!plain) return elementwise(x, [](const at::Tensor& y) { return at::gelu(y, "tanh"); });
  at::Tensor rows = x.flatten(0, -2);  // [n f]
  if (rows.stride(-1) != 1) rows = rows.contiguous();
  at::Tensor y = at::empty(x.sizes(), x.options());
  const std::int64_t width = rows.size(-1);
  const std::int64_t stride = rows.stride(0);
  const auto* in = rows.const_data_ptr<float>();
  auto* out = y.mutable_data_ptr<float>();
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width));
  at::parallel_for(0, rows.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      gelu_tanh_loop(in + row * stride, out + row * width, width);
    }
  });
  return y;
}

}  // namespace

at::Tensor activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::relu:
      return at::relu(x);
    case Activation::gelu:
      return elementwise(x, [](const at::Tensor& y) { return at::gelu(y, "none"); });
    case Activation::gelu_tanh:
      return gelu_tanh(x);
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

namespace {

bool is_observed(const Run& run, int layer) {
  return run.used(Site::mlp_pre, layer) || run.used(Site::mlp_pre_linear, layer) ||
         run.used(Site::mlp_post, layer);
}

// The inner values of an MLP, changed and observed where a tap is on them.
at::Tensor inner_values(Run& run, int layer, const at::Tensor& in) {
  if (run.config.mlp != MlpKind::gated) {
    return activate(run.config.activation, run.tap(Site::mlp_pre, layer, in));
  }
  // The gate and the linear branch come from one product, side by side.
  const std::int64_t width = in.size(-1) / 2;
  const at::Tensor pre = run.tap(Site::mlp_pre, layer, in.narrow(-1, 0, width));
  const at::Tensor linear = run.tap(Site::mlp_pre_linear, layer, in.narrow(-1, width, width));
  at::Tensor post = activate(run.config.activation, pre);
  const bool fresh = !run.differentiable() && run.config.activation != Activation::identity;
  return fresh ? post.mul_(linear) : post * linear;
}

// function(x) for some positions after the other [b q …]. The same cuts whoever observes, so that
// observation changes no bit.
template <typename Function>
at::Tensor by_positions(const at::Tensor& x, Function&& function) {
  at::Tensor out;
  for (std::int64_t begin = 0; begin < x.size(1); begin += kMlpPositions) {
    const std::int64_t count = std::min(kMlpPositions, x.size(1) - begin);
    const at::Tensor part = function(x.narrow(1, begin, count));
    if (!out.defined()) {
      out = at::empty({x.size(0), x.size(1), part.size(2)}, part.options());
    }
    out.narrow(1, begin, count).copy_(part);
  }
  return out;
}

}  // namespace

at::Tensor mlp(Run& run, int layer, const at::Tensor& x) {
  const LayerWeights& weights = run.model.layer(layer);
  if (x.size(1) <= kMlpPositions || run.differentiable()) {
    const at::Tensor post = inner_values(run, layer, weights.mlp_in(x));
    return weights.mlp_out(run.tap(Site::mlp_post, layer, post));
  }
  if (!is_observed(run, layer)) {
    return by_positions(x, [&](const at::Tensor& part) {
      return weights.mlp_out(inner_values(run, layer, weights.mlp_in(part)));
    });
  }
  const at::Tensor post = inner_values(run, layer, by_positions(x, weights.mlp_in));
  return by_positions(run.tap(Site::mlp_post, layer, post), weights.mlp_out);
}

}  // namespace attnscope
