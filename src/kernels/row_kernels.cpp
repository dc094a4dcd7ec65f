#include "row_kernels.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "attnscope/support/vector_clones.h"

namespace attnscope::row_kernels {
namespace {

// Partial sums are kept in the row's own type over so many keys, then added up in double.
constexpr int kSegment = 256;

template <typename T>
constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

// ln x for x ≥ 0, written so that a loop over it vectorises; relative error 1e-7 (float), 4e-16
// (double). x = m·2^e with m in [√½, √2) and ln m = 2·artanh((m−1)/(m+1)). ln 0 is a finite number
// here, which makes 0·ln 0 the 0 that entropy needs.
ATTNSCOPE_INLINE float log_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto exponent = static_cast<std::int32_t>(bits - 0x3f3504f3u) >> 23;
  const auto m = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << 23));
  const float s = (m - 1) / (m + 1);
  const float t = s * s;
  const float series = (((1.f / 9 * t + 1.f / 7) * t + 1.f / 5) * t + 1.f / 3) * t;
  return static_cast<float>(exponent) * 0.693147180559945f + 2 * s * (1 + series);
}

ATTNSCOPE_INLINE double log_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int64_t>(bits - 0x3fe6a09e667f3bcdu) >> 52;
  const auto m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  const double s = (m - 1) / (m + 1);
  const double t = s * s;
  double series = 1.0 / 23;
  for (int k = 21; k >= 3; k -= 2) series = series * t + 1.0 / k;
  return static_cast<double>(exponent) * 0.693147180559945309 + 2 * s * (1 + series * t);
}

template <typename T>
ATTNSCOPE_INLINE Moments moments_of(const T* row, int n, int query, int first_key) {
  Moments total;
  T smallest = 0;
  for (int begin = 0; begin < n; begin += kSegment) {
    const int end = std::min(n, begin + kSegment);
    const int offset = query - first_key;
    T entropy = 0, square = 0, distance = 0;
#pragma omp simd reduction(+ : entropy, square, distance) reduction(min : smallest)
    for (int j = begin; j < end; ++j) {
      const T a = row[j];
      const int gap = offset - j;
      entropy -= a * log_of(a);
      square += a * a;
      distance += a * static_cast<T>(gap < 0 ? -gap : gap);
      smallest = a < smallest ? a : smallest;
    }
    total.entropy += static_cast<double>(entropy);
    total.square += static_cast<double>(square);
    total.distance += static_cast<double>(distance);
  }
  if (smallest < 0) total.entropy = std::numeric_limits<double>::quiet_NaN();
  return total;
}

template <int kRows, typename T>
ATTNSCOPE_INLINE void fold_rows(const ScaledRow<T>* rows, int n, double* __restrict key_sum,
                                float* __restrict cell_max) {
  const T* values[kRows];
  T factors[kRows];
  for (int r = 0; r < kRows; ++r) {
    values[r] = rows[r].values;
    factors[r] = rows[r].factor;
  }
#pragma omp simd
  for (int j = 0; j < n; ++j) {
    T sum = 0;
    T largest = 0;
    for (int r = 0; r < kRows; ++r) {
      const T a = values[r][j] * factors[r];
      sum += a;
      largest = a > largest ? a : largest;
    }
    key_sum[j] += static_cast<double>(sum);
    const auto cell = static_cast<float>(largest);
    cell_max[j] = cell > cell_max[j] ? cell : cell_max[j];
  }
}

template <typename T>
ATTNSCOPE_INLINE void fold_any(const ScaledRow<T>* rows, int n_rows, int n, double* key_sum,
                               float* cell_max) {
  switch (n_rows) {
    case 1:
      return fold_rows<1>(rows, n, key_sum, cell_max);
    case 2:
      return fold_rows<2>(rows, n, key_sum, cell_max);
    case 3:
      return fold_rows<3>(rows, n, key_sum, cell_max);
    default:
      return fold_rows<4>(rows, n, key_sum, cell_max);
  }
}

template <typename T>
ATTNSCOPE_INLINE T largest_of(const T* row, int n) {
  T largest = kMinusInfinity<T>;
#pragma omp simd reduction(max : largest)
  for (int j = 0; j < n; ++j) largest = row[j] > largest ? row[j] : largest;
  return largest;
}

template <typename T>
ATTNSCOPE_INLINE void maxima_of(const T* row, int n, T* __restrict maxima) {
  int begin = 0;
  for (; begin + kStrip <= n; begin += kStrip, maxima += kBlockLanes) {
    const T* const strip = row + begin;
#pragma omp simd
    for (int lane = 0; lane < kBlockLanes; ++lane) {
      T largest = kMinusInfinity<T>;
#pragma GCC unroll 16
      for (int t = 0; t < kStrip / kBlockLanes; ++t) {
        const T value = strip[t * kBlockLanes + lane];
        largest = value > largest ? value : largest;
      }
      maxima[lane] = largest;
    }
  }
  std::fill_n(maxima, std::min(n - begin, kBlockLanes), kMinusInfinity<T>);
  for (; begin < n; begin += kBlockLanes) {
    const int size = std::min(n - begin, kBlockLanes);
#pragma omp simd
    for (int lane = 0; lane < size; ++lane) {
      maxima[lane] = row[begin + lane] > maxima[lane] ? row[begin + lane] : maxima[lane];
    }
  }
}

// The largest value that at least k of the `groups` reach, −inf if there are fewer.
template <typename T>
ATTNSCOPE_INLINE T reached_by(const T (&groups)[kBlockLanes], int k) {
  T reached[kBlockLanes] = {};
  for (int other = 0; other < kBlockLanes; ++other) {
    const T value = groups[other];
#pragma omp simd
    for (int g = 0; g < kBlockLanes; ++g) reached[g] += value >= groups[g] ? T{1} : T{0};
  }
  T bar = kMinusInfinity<T>;
  for (int g = 0; g < kBlockLanes; ++g) {
    bar = reached[g] >= static_cast<T>(k) && groups[g] > bar ? groups[g] : bar;
  }
  return bar;
}

// A value that at least k keys of a row reach, from the maxima of its blocks. Blocks are joined to
// kBlockLanes groups first: for k up to half of them that is nearly as good a bar as all blocks
// give, in less time.
template <typename T>
ATTNSCOPE_INLINE T bar_of(const T* maxima, int n_blocks, int k) {
  T groups[kBlockLanes];
  std::fill_n(groups, kBlockLanes, kMinusInfinity<T>);
  for (int begin = 0; begin < n_blocks; begin += kBlockLanes) {
    const int size = std::min(kBlockLanes, n_blocks - begin);
#pragma omp simd
    for (int g = 0; g < size; ++g) {
      groups[g] = maxima[begin + g] > groups[g] ? maxima[begin + g] : groups[g];
    }
  }
  return reached_by(groups, k);
}

// Without branches on values: they cannot be predicted, and a wrong guess costs more than a key.
template <typename T>
ATTNSCOPE_INLINE TopCandidates<T> candidates_of(const ScaledRow<T>& row, int n, int k,
                                                const CandidateArrays<T>& out) {
  const int n_blocks = block_count(n);
  maxima_of(row.values, n, out.maxima);
#pragma omp simd
  for (int b = 0; b < n_blocks; ++b) out.maxima[b] *= row.factor;
  const T bar = bar_of(out.maxima, n_blocks, k);
  int n_found = 0;
  for (int b = 0; b < n_blocks; ++b) {
    out.blocks[n_found] = b;
    n_found += out.maxima[b] >= bar ? 1 : 0;
  }
  TopCandidates<T> found;
  for (int i = 0; i < n_found; ++i) {
    const int strip = out.blocks[i] / kBlockLanes * kStrip;
    const int end = std::min(n, strip + kStrip);
    for (int j = strip + out.blocks[i] % kBlockLanes; j < end; j += kBlockLanes) {
      const T a = row.values[j] * row.factor;
      out.values[found.count] = a;
      out.keys[found.count] = j;
      found.count += a >= bar ? 1 : 0;
    }
  }
  found.largest = largest_of(out.maxima, n_blocks);
  return found;
}

template <typename T>
ATTNSCOPE_INLINE void before_of(const T* values, const std::int32_t* keys, int n,
                                std::int32_t* n_before) {
  for (int begin = 0; begin < n; begin += kBlockLanes) {
    std::int32_t counts[kBlockLanes] = {};
    for (int other = 0; other < n; ++other) {
      const T value = values[other];
      const std::int32_t key = keys[other];
#pragma omp simd
      for (int lane = 0; lane < kBlockLanes; ++lane) {
        const int larger = value > values[begin + lane] ? 1 : 0;
        const int same = value == values[begin + lane] ? 1 : 0;
        const int earlier = key < keys[begin + lane] ? 1 : 0;
        counts[lane] += larger | (same & earlier);
      }
    }
    std::copy_n(counts, kBlockLanes, n_before + begin);
  }
}

template <typename T>
ATTNSCOPE_INLINE bool nonzero_in(const T* row, int n) {
  for (int begin = 0; begin < n; begin += kSegment) {
    const int end = std::min(n, begin + kSegment);
    int found = 0;
#pragma omp simd reduction(| : found)
    for (int j = begin; j < end; ++j) found |= row[j] != 0;
    if (found) return true;
  }
  return false;
}

}  // namespace

ATTNSCOPE_CLONES Moments moments(const float* row, int n, int query, int first_key) {
  return moments_of(row, n, query, first_key);
}
ATTNSCOPE_CLONES Moments moments(const double* row, int n, int query, int first_key) {
  return moments_of(row, n, query, first_key);
}

ATTNSCOPE_CLONES void fold(const ScaledRow<float>* rows, int n_rows, int n, double* key_sum,
                           float* cell_max) {
  fold_any(rows, n_rows, n, key_sum, cell_max);
}
ATTNSCOPE_CLONES void fold(const ScaledRow<double>* rows, int n_rows, int n, double* key_sum,
                           float* cell_max) {
  fold_any(rows, n_rows, n, key_sum, cell_max);
}

ATTNSCOPE_CLONES TopCandidates<float> top_candidates(const ScaledRow<float>& row, int n, int k,
                                                     const CandidateArrays<float>& out) {
  return candidates_of(row, n, k, out);
}
ATTNSCOPE_CLONES TopCandidates<double> top_candidates(const ScaledRow<double>& row, int n, int k,
                                                      const CandidateArrays<double>& out) {
  return candidates_of(row, n, k, out);
}

ATTNSCOPE_CLONES void count_before(const float* values, const std::int32_t* keys, int n,
                                   std::int32_t* n_before) {
  before_of(values, keys, n, n_before);
}
ATTNSCOPE_CLONES void count_before(const double* values, const std::int32_t* keys, int n,
                                   std::int32_t* n_before) {
  before_of(values, keys, n, n_before);
}

ATTNSCOPE_CLONES float largest(const float* row, int n) {
  return largest_of(row, n);
}
ATTNSCOPE_CLONES double largest(const double* row, int n) {
  return largest_of(row, n);
}

ATTNSCOPE_CLONES bool any_nonzero(const float* row, int n) {
  return nonzero_in(row, n);
}
ATTNSCOPE_CLONES bool any_nonzero(const double* row, int n) {
  return nonzero_in(row, n);
}

}  // namespace attnscope::row_kernels
