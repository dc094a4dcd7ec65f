// File: elementwise.h
// Elementwise functions whose bits do not depend on where a value lies.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

namespace attnscope {

// function(x), elementwise. LibTorch computes the last few values of a tensor that do not fill a
// vector register by other instructions, which round differently; equal rows of a batch would then
// differ. So a contiguous x is padded to whole registers. Sizes of real models need no padding.
template <typename Function>
at::Tensor elementwise(const at::Tensor& x, Function&& function) {
  constexpr std::int64_t kRegister = 64;
  const std::int64_t tail = x.numel() % kRegister;
  if (tail == 0 || !x.is_contiguous()) return function(x);
  const at::Tensor padded = at::constant_pad_nd(x.flatten(), {0, kRegister - tail});
  return function(padded).narrow(0, 0, x.numel()).view(x.sizes());
}

}  // namespace attnscope
