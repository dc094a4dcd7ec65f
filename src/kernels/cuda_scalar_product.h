// File: cuda_scalar_product.h
// Scores of one tile by multiply-add in float32: each of 128 threads makes 4 × 8 of the 64 × 64
// dot products. C++17.
#pragma once

#include "cuda_bits.h"
#include "cuda_statistics_params.h"

namespace attnscope::cuda {

// How a stored value becomes a float; types of 16 bits are told apart by their tag.
struct Float32 {
  using Stored = float;
  ATTNSCOPE_DEVICE static Four load(const float* values) {
    return *reinterpret_cast<const Four*>(values);
  }
};

// Value::Stored is what q and k hold, Value::load() reads four of them.
template <class Value>
class ScalarProduct {
 public:
  using Stored = typename Value::Stored;
  static constexpr int kDepth = kSliceBytes / static_cast<int>(sizeof(Stored));
  static constexpr int kPitch = kSlicePitch / static_cast<int>(sizeof(Stored));

  ATTNSCOPE_DEVICE void clear() {
    ATTNSCOPE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ATTNSCOPE_UNROLL
      for (int c = 0; c < kColumns; ++c) sums_[r][c] = 0;
    }
  }

  // Adds the products of slices [64 kDepth] of queries and keys. Rows and columns of a thread are
  // apart by 16 and 8, so that a warp reads neighbouring rows.
  ATTNSCOPE_DEVICE void add(int thread, const Stored* q, const Stored* k) {
    const Stored* const q_row = q + thread / 8 * kPitch;
    const Stored* const k_row = k + thread % 8 * kPitch;
    for (int d = 0; d < kDepth; d += 4) {
      Four a[kRows];
      ATTNSCOPE_UNROLL
      for (int r = 0; r < kRows; ++r) a[r] = Value::load(q_row + 16 * r * kPitch + d);
      ATTNSCOPE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        const Four b = Value::load(k_row + 8 * c * kPitch + d);
        ATTNSCOPE_UNROLL
        for (int r = 0; r < kRows; ++r) {
          ATTNSCOPE_UNROLL
          for (int i = 0; i < 4; ++i) sums_[r][c] += a[r].x[i] * b.x[i];
        }
      }
    }
  }

  // To scores [64 kScorePitch].
  ATTNSCOPE_DEVICE void store(int thread, float* scores) const {
    ATTNSCOPE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ATTNSCOPE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        scores[(thread / 8 + 16 * r) * kScorePitch + thread % 8 + 8 * c] = sums_[r][c];
      }
    }
  }

 private:
  static constexpr int kRows = 4;
  static constexpr int kColumns = 8;
  float sums_[kRows][kColumns];
};

}  // namespace attnscope::cuda
