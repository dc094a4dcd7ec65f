// File: exponential.h
// e^x for loops over many values.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "attnscope/support/vector_clones.h"

namespace attnscope {

// e^x for x ≤ 0, written so that a loop over it vectorises; relative error 1e-7. x = n·ln 2 + r;
// the polynomial is the Taylor series of e^r with |r| ≤ ½ ln 2, its coefficients fitted (Cephes).
// Below the smallest normal float it is exactly 0.
ATTNSCOPE_INLINE float exp_of(float x) {
  constexpr float kSmallest = -87.33654f;
  constexpr float kRound = 12582912.0f;  // 1.5·2²³: adding it rounds to an integer
  const float clamped = x >= kSmallest ? x : kSmallest;
  const float n = (clamped * 1.44269504088896341f + kRound) - kRound;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
  const float power = p * std::bit_cast<float>(exponent);
  const float small = x < kSmallest ? 0.0f : x;  // NaN stays NaN
  return x >= kSmallest ? power : small;
}

ATTNSCOPE_INLINE double exp_of(double x) {
  return std::exp(x);
}

}  // namespace attnscope
