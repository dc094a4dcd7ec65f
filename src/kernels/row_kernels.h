// File: row_kernels.h
// The loops over one row of an attention map, for float and double. They are compiled for several
// instruction sets and the one that fits the processor is picked when the program starts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attnscope::row_kernels {

struct Moments {
  double entropy = 0;   // −Σ α ln α; NaN if some α < 0
  double square = 0;    // Σ α²
  double distance = 0;  // Σ α |query − key|
};

// `row` [n]; key j stands at position first_key + j.
Moments moments(const float* row, int n, int query, int first_key);
Moments moments(const double* row, int n, int query, int first_key);

// α_j = factor·values[j].
template <typename T>
struct ScaledRow {
  const T* values = nullptr;
  T factor = 1;
};

inline constexpr std::size_t kFoldRows = 4;

// For each of n keys: key_sum[j] += Σ_rows α_j and cell_max[j] = max(cell_max[j], α_j of any row).
// At most kFoldRows rows.
void fold(const ScaledRow<float>* rows, int n_rows, int n, double* key_sum, float* cell_max);
void fold(const ScaledRow<double>* rows, int n_rows, int n, double* key_sum, float* cell_max);

// Keys among which the k largest α of a row are, and the row's largest α (−inf if n is 0).
template <typename T>
struct TopCandidates {
  int count = 0;
  T largest = 0;
};

// Where they are put, with the keys counted from the row's first one, in no order.
template <typename T>
struct CandidateArrays {
  T* values = nullptr;             // [n]
  std::int32_t* keys = nullptr;    // [n]
  T* maxima = nullptr;             // [block_count(n)], used on the way
  std::int32_t* blocks = nullptr;  // the same
};

// A row is cut into strips; a block is every kBlockLanes-th key of a strip, so that the maxima of
// all its blocks are found without a sum across the lanes of a register.
inline constexpr int kBlockLanes = 16;
inline constexpr int kStrip = 8 * kBlockLanes;

inline int block_count(int n) {
  const int rest = n % kStrip;
  return n / kStrip * kBlockLanes + (rest < kBlockLanes ? rest : kBlockLanes);
}

// All keys whose α is at least as large as some value that at least k of them reach. NaN is passed
// over.
TopCandidates<float> top_candidates(const ScaledRow<float>& row, int n, int k,
                                    const CandidateArrays<float>& out);
TopCandidates<double> top_candidates(const ScaledRow<double>& row, int n, int k,
                                     const CandidateArrays<double>& out);

// n_before[i] = how many of n candidates have a larger value than candidate i, or the same value
// and a lower key. The arrays reach up to a multiple of kBlockLanes.
void count_before(const float* values, const std::int32_t* keys, int n, std::int32_t* n_before);
void count_before(const double* values, const std::int32_t* keys, int n, std::int32_t* n_before);

// −inf if n is 0; NaN is passed over.
float largest(const float* row, int n);
double largest(const double* row, int n);

// True if some value is not 0.
bool any_nonzero(const float* row, int n);
bool any_nonzero(const double* row, int n);

}  // namespace attnscope::row_kernels
