#include "tile_rows.h"

#include <algorithm>
#include <cmath>

#include "attnscope/kernels/exponential.h"
#include "attnscope/support/vector_clones.h"

namespace attnscope::row_kernels {
namespace {

// Partial sums are kept in the row's own type over so many keys, then added up in double.
constexpr int kSegment = 256;

// Not part of the loop that makes the terms, so that the order of the sum, and so its bits, do not
// depend on what else that loop computes.
template <typename T>
ATTNSCOPE_INLINE double sum_of(const T* row, int n) {
  double total = 0;
  for (int begin = 0; begin < n; begin += kSegment) {
    const int end = std::min(n, begin + kSegment);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = begin; j < end; ++j) sum += row[j];
    total += static_cast<double>(sum);
  }
  return total;
}

template <typename T>
ATTNSCOPE_INLINE ExpSums exponentials_of(T* row, int n, T shift) {
#pragma omp simd
  for (int j = 0; j < n; ++j) row[j] = exp_of(row[j] - shift);
  return {.sum = sum_of(row, n)};
}

// An x below which p is 0: keeps −inf·0 out of Σ p·x.
constexpr float kLowest = -90.0F;
constexpr double kLowestDouble = -750.0;
ATTNSCOPE_INLINE float bounded(float x) {
  return x >= kLowest ? x : kLowest;
}
ATTNSCOPE_INLINE double bounded(double x) {
  return x >= kLowestDouble ? x : kLowestDouble;
}

template <typename T>
ATTNSCOPE_INLINE ExpSums all_sums_of(T* row, int n, T shift, const T* distances) {
  ExpSums total;
  for (int begin = 0; begin < n; begin += kSegment) {
    const int end = std::min(n, begin + kSegment);
    T weighted = 0, square = 0, distance = 0;
#pragma omp simd reduction(+ : weighted, square, distance)
    for (int j = begin; j < end; ++j) {
      const T x = row[j] - shift;
      const T p = exp_of(x);
      row[j] = p;
      weighted += p * bounded(x);
      square += p * p;
      distance += p * distances[j];
    }
    total.weighted += static_cast<double>(weighted);
    total.square += static_cast<double>(square);
    total.distance += static_cast<double>(distance);
  }
  total.sum = sum_of(row, n);
  return total;
}

// tanh y, relative error 2e-7. Near 0 a fitted odd polynomial (Cephes); elsewhere
// (1 − e^−2|y|)/(1 + e^−2|y|), whose difference is then no small one.
ATTNSCOPE_INLINE float tanh_of(float y) {
  const float size = std::fabs(y);
  const float z = y * y;
  float series = -5.70498872745e-3F;
  series = series * z + 2.06390887954e-2F;
  series = series * z - 5.37397155531e-2F;
  series = series * z + 1.33314422036e-1F;
  series = series * z - 3.33332819422e-1F;
  const float e = exp_of(-2 * size);
  const float far = std::copysign((1 - e) / (1 + e), y);
  return size < 0.625F ? y + y * z * series : far;
}

ATTNSCOPE_INLINE double tanh_of(double y) {
  return std::tanh(y);
}

template <typename T>
ATTNSCOPE_INLINE void soft_cap_of(T* row, int n, T cap) {
  const T inverse = 1 / cap;
#pragma omp simd
  for (int j = 0; j < n; ++j) row[j] = cap * tanh_of(row[j] * inverse);
}

template <typename T>
ATTNSCOPE_INLINE void add_to(T* row, int n, const T* other) {
#pragma omp simd
  for (int j = 0; j < n; ++j) row[j] += other[j];
}

template <typename T>
ATTNSCOPE_INLINE void add_constant_to(T* row, int n, T constant) {
#pragma omp simd
  for (int j = 0; j < n; ++j) row[j] += constant;
}

template <typename T>
ATTNSCOPE_INLINE void scale_to(const T* row, int n, T factor, T* out) {
#pragma omp simd
  for (int j = 0; j < n; ++j) out[j] = row[j] * factor;
}

}  // namespace

ATTNSCOPE_CLONES ExpSums exponentials(float* row, int n, float shift) {
  return exponentials_of(row, n, shift);
}
ATTNSCOPE_CLONES ExpSums exponentials(double* row, int n, double shift) {
  return exponentials_of(row, n, shift);
}

ATTNSCOPE_CLONES ExpSums exponentials_and_sums(float* row, int n, float shift,
                                               const float* distances) {
  return all_sums_of(row, n, shift, distances);
}
ATTNSCOPE_CLONES ExpSums exponentials_and_sums(double* row, int n, double shift,
                                               const double* distances) {
  return all_sums_of(row, n, shift, distances);
}

ATTNSCOPE_CLONES double sum(const float* row, int n) {
  return sum_of(row, n);
}
ATTNSCOPE_CLONES double sum(const double* row, int n) {
  return sum_of(row, n);
}

ATTNSCOPE_CLONES void soft_cap(float* row, int n, float cap) {
  soft_cap_of(row, n, cap);
}
ATTNSCOPE_CLONES void soft_cap(double* row, int n, double cap) {
  soft_cap_of(row, n, cap);
}

ATTNSCOPE_CLONES void add(float* row, int n, const float* other) {
  add_to(row, n, other);
}
ATTNSCOPE_CLONES void add(double* row, int n, const double* other) {
  add_to(row, n, other);
}

ATTNSCOPE_CLONES void add_constant(float* row, int n, float constant) {
  add_constant_to(row, n, constant);
}
ATTNSCOPE_CLONES void add_constant(double* row, int n, double constant) {
  add_constant_to(row, n, constant);
}

ATTNSCOPE_CLONES void scale(const float* row, int n, float factor, float* out) {
  scale_to(row, n, factor, out);
}
ATTNSCOPE_CLONES void scale(const double* row, int n, double factor, double* out) {
  scale_to(row, n, factor, out);
}

}  // namespace attnscope::row_kernels
