#include "gelu_loop.h"

#include <cmath>

#include "attnscope/kernels/exponential.h"
#include "attnscope/support/vector_clones.h"

namespace attnscope {
namespace {

// ½ (1 + tanh u) is the logistic function of 2u, which needs no difference of near-equal numbers.
ATTNSCOPE_INLINE float gelu_tanh_of(float x) {
  constexpr float kLinear = 1.5957691216057308f;  // 2 √(2/π)
  constexpr float kCubic = 0.0713548162726f;      // 0.044715 of it
  const float twice_u = x * (kLinear + kCubic * (x * x));
  const float e = exp_of(-std::fabs(twice_u));
  const float numerator = twice_u >= 0 ? x : x * e;
  return numerator / (1 + e);
}

}  // namespace

ATTNSCOPE_CLONES void gelu_tanh_loop(const float* x, float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = gelu_tanh_of(x[i]);
}

}  // namespace attnscope
