#include "planes.h"

#include <cmath>
#include <cstring>

#include "attnscope/support/vector_clones.h"

namespace attnscope {
namespace {

constexpr std::uint32_t kExponentMask = 0x7f800000U;
constexpr std::uint32_t kMagnitudeMask = 0x7fffffffU;

// To nearest even on the lowest `drop` bits. Infinity has no mantissa and stays; of a NaN the quiet
// bit is set, so that it stays one when its payload is cut.
inline std::uint32_t rounded_bits(std::uint32_t u, int drop) {
  const std::uint32_t low = (1U << drop) - 1U;
  const std::uint32_t nearest = (u + (low >> 1U) + ((u >> drop) & 1U)) & ~low;
  const std::uint32_t nan = (u | 0x00400000U) & ~low;
  return (u & kMagnitudeMask) > kExponentMask ? nan : nearest;
}

// Branch-free so that it vectorises. Normal halves: rebias and round to nearest even in integers.
// Subnormal ones: adding 1/2 puts the last half bit (2^-24) at the end of the float's mantissa, and
// the addition itself rounds to nearest even.
inline std::uint32_t half_bits(std::uint32_t u) {
  const std::uint32_t sign = (u >> 16U) & 0x8000U;
  const std::uint32_t magnitude = u & kMagnitudeMask;
  const std::uint32_t normal =
      (magnitude - 0x38000000U + 0x0fffU + ((magnitude >> 13U) & 1U)) >> 13U;
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t finite = magnitude < 0x38800000U ? small : normal;
  const std::uint32_t huge = magnitude > kExponentMask ? 0x7e00U : 0x7c00U;
  // 0x477ff000 = 65520, the least magnitude that rounds to infinity.
  return sign | (magnitude >= 0x477ff000U ? huge : finite);
}

// Part of each function below, so that it is compiled for the same instructions.
template <int kBits>
[[gnu::always_inline]] inline void store_rounded(const float* values, std::size_t count,
                                                 float floor, unsigned char* out,
                                                 std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    const float kept = std::fabs(values[i]) < floor ? 0.0F : values[i];
    const std::uint32_t u = rounded_bits(std::bit_cast<std::uint32_t>(kept), 23 - kBits);
    out[i] = static_cast<unsigned char>(u);
    out[stride + i] = static_cast<unsigned char>(u >> 8U);
    out[2 * stride + i] = static_cast<unsigned char>(u >> 16U);
    out[3 * stride + i] = static_cast<unsigned char>(u >> 24U);
  }
}

ATTNSCOPE_CLONES
void store_r10(const float* values, std::size_t count, float floor, unsigned char* out,
               std::size_t stride) {
  store_rounded<10>(values, count, floor, out, stride);
}

ATTNSCOPE_CLONES
void store_r7(const float* values, std::size_t count, float floor, unsigned char* out,
              std::size_t stride) {
  store_rounded<7>(values, count, floor, out, stride);
}

ATTNSCOPE_CLONES
void store_f32(const float* values, std::size_t count, float floor, unsigned char* out,
               std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    const float kept = std::fabs(values[i]) < floor ? 0.0F : values[i];
    const auto u = std::bit_cast<std::uint32_t>(kept);
    out[i] = static_cast<unsigned char>(u);
    out[stride + i] = static_cast<unsigned char>(u >> 8U);
    out[2 * stride + i] = static_cast<unsigned char>(u >> 16U);
    out[3 * stride + i] = static_cast<unsigned char>(u >> 24U);
  }
}

ATTNSCOPE_CLONES
void store_f16(const float* values, std::size_t count, float floor, unsigned char* out,
               std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    const float kept = std::fabs(values[i]) < floor ? 0.0F : values[i];
    const std::uint32_t u = half_bits(std::bit_cast<std::uint32_t>(kept));
    out[i] = static_cast<unsigned char>(u);
    out[stride + i] = static_cast<unsigned char>(u >> 8U);
  }
}

template <std::size_t kBytes>
void shuffle_fixed(const unsigned char* raw, std::size_t count, unsigned char* out) {
  for (std::size_t p = 0; p < kBytes; ++p) {
    for (std::size_t i = 0; i < count; ++i) out[p * count + i] = raw[i * kBytes + p];
  }
}

}  // namespace

float round_mantissa(float value, int bits) {
  return std::bit_cast<float>(rounded_bits(std::bit_cast<std::uint32_t>(value), 23 - bits));
}

std::uint16_t to_half(float value) {
  return static_cast<std::uint16_t>(half_bits(std::bit_cast<std::uint32_t>(value)));
}

float from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 0x1f;
  const int mantissa = bits & 0x3ff;
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  if (exponent == 0x1f) {
    return std::bit_cast<float>(sign | kExponentMask |
                                (static_cast<std::uint32_t>(mantissa) << 13U));
  }
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return sign != 0 ? -magnitude : magnitude;
}

namespace storage_detail {

void store_row(const RowJob& job, std::byte* planes, std::size_t plane_stride) {
  auto* out = reinterpret_cast<unsigned char*>(planes);
  switch (job.dtype) {
    case MapDType::r10:
      return store_r10(job.values, job.count, job.floor, out, plane_stride);
    case MapDType::r7:
      return store_r7(job.values, job.count, job.floor, out, plane_stride);
    case MapDType::f32:
      return store_f32(job.values, job.count, job.floor, out, plane_stride);
    case MapDType::f16:
      return store_f16(job.values, job.count, job.floor, out, plane_stride);
  }
}

void shuffle(const std::byte* raw, std::size_t count, std::size_t value_bytes, std::byte* out) {
  const auto* in = reinterpret_cast<const unsigned char*>(raw);
  auto* to = reinterpret_cast<unsigned char*>(out);
  switch (value_bytes) {
    case 1:
      std::memcpy(out, raw, count);
      return;
    case 2:
      return shuffle_fixed<2>(in, count, to);
    case 4:
      return shuffle_fixed<4>(in, count, to);
    default:
      return shuffle_fixed<8>(in, count, to);
  }
}

}  // namespace storage_detail
}  // namespace attnscope
