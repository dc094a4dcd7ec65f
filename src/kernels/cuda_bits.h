// File: cuda_bits.h
// Floats and their bits, in code that runs on the device and on the host. C++17.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda_statistics_params.h"

namespace attnscope::cuda {

// What a thread reads at once.
struct alignas(16) Four {
  float x[4];
};

ATTNSCOPE_DEVICE std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

ATTNSCOPE_DEVICE float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

ATTNSCOPE_DEVICE float infinity() {
  return float_of(0x7f800000U);
}
ATTNSCOPE_DEVICE float not_a_number() {
  return float_of(0x7fc00000U);
}

// The bits of a weight with its mantissa rounded to 10 bits, to nearest even.
ATTNSCOPE_DEVICE std::uint32_t r10_bits(float value) {
  const std::uint32_t u = bits_of(value);
  if (value != value) return (u | 0x00400000U) & 0xffffe000U;
  return (u + 0x0fffU + ((u >> 13U) & 1U)) & 0xffffe000U;
}

// IEEE binary16, to nearest even. Below the normal halves adding 1/2 puts the last half bit at the
// end of the float's mantissa, and the addition rounds.
ATTNSCOPE_DEVICE std::uint16_t f16_bits(float value) {
  const std::uint32_t u = bits_of(value);
  const std::uint32_t sign = (u >> 16U) & 0x8000U;
  const std::uint32_t magnitude = u & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude >= 0x477ff000U) {
    half = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  } else if (magnitude < 0x38800000U) {
    half = bits_of(float_of(magnitude) + 0.5F) - 0x3f000000U;
  } else {
    half = (magnitude - 0x38000000U + 0x0fffU + ((magnitude >> 13U) & 1U)) >> 13U;
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace attnscope::cuda
