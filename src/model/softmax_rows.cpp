#include "softmax_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attnscope/kernels/exponential.h"
#include "attnscope/support/vector_clones.h"

namespace attnscope {
namespace {

// Partial sums are kept in the row's own type over so many keys, then added up in double.
constexpr int kSegment = 256;

template <typename T>
ATTNSCOPE_INLINE T largest_of(const T* values, int count) {
  T largest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : largest)
  for (int j = 0; j < count; ++j) largest = values[j] > largest ? values[j] : largest;
  return largest;
}

// values := e^(values − shift); returns their sum.
template <typename T>
ATTNSCOPE_INLINE double exponentials(T* values, int count, T shift) {
  double total = 0;
  for (int begin = 0; begin < count; begin += kSegment) {
    const int end = std::min(count, begin + kSegment);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = begin; j < end; ++j) {
      values[j] = exp_of(values[j] - shift);
      sum += values[j];
    }
    total += static_cast<double>(sum);
  }
  return total;
}

template <typename T>
ATTNSCOPE_INLINE void scale(T* values, int count, T factor) {
#pragma omp simd
  for (int j = 0; j < count; ++j) values[j] *= factor;
}

template <typename T>
std::vector<std::uint8_t> visible_keys(const T* scores, int count) {
  std::vector<std::uint8_t> visible(static_cast<std::size_t>(count));
  std::transform(scores, scores + count, visible.begin(),
                 [](T score) { return score == -std::numeric_limits<T>::infinity() ? 0 : 1; });
  return visible;
}

template <typename T>
void mix_with_constant(T* values, const std::vector<std::uint8_t>& visible, double mix) {
  for (std::size_t j = 0; j < visible.size(); ++j) {
    const double mixed = mix * static_cast<double>(values[j]) + (1 - mix);
    values[j] = visible[j] != 0 ? static_cast<T>(mixed) : T{0};
  }
}

// Only −inf becomes 0: a NaN must stay visible.
template <typename T>
void clear_masked(T* values, int count) {
  std::replace(values, values + count, -std::numeric_limits<T>::infinity(), T{0});
}

template <typename T>
ATTNSCOPE_INLINE SoftmaxSums<T> softmax(const SoftmaxRow<T>& row) {
  constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();
  T* const values = row.values + row.begin;
  const int count = row.end - row.begin;
  T largest = largest_of(values, count);
  std::vector<std::uint8_t> visible;
  if (row.mix != 1) visible = visible_keys(values, count);
  if (row.sink != nullptr) largest = std::max(largest, *row.sink);
  if (largest == kMinusInfinity) {
    // No comparison sees a NaN, and a row of nothing else is not a masked one.
    clear_masked(values, count);
    const bool nan = std::any_of(values, values + count, [](T v) { return v != v; });
    return {nan ? std::numeric_limits<T>::quiet_NaN() : kMinusInfinity, T{0}};
  }
  double sum = exponentials(values, count, largest);
  double sink = 0;
  if (row.sink != nullptr) {
    sink = std::exp(static_cast<double>(*row.sink - largest));
    sum += sink;
  }
  scale(values, count, static_cast<T>(1 / sum));
  if (row.mix != 1) mix_with_constant(values, visible, row.mix);
  return {static_cast<T>(static_cast<double>(largest) + std::log(sum)), static_cast<T>(sink / sum)};
}

}  // namespace

ATTNSCOPE_CLONES SoftmaxSums<float> softmax_row(const SoftmaxRow<float>& row) {
  return softmax(row);
}

ATTNSCOPE_CLONES SoftmaxSums<double> softmax_row(const SoftmaxRow<double>& row) {
  return softmax(row);
}

}  // namespace attnscope
