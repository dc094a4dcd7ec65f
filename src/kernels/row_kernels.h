// File: row_kernels.h
// The loops over one row of an attention map, for float and double. They are compiled for several
// instruction sets and the one that fits the processor is picked when the program starts.
#pragma once

#include <cstdint>

namespace attnscope::row_kernels {

struct Moments {
  double entropy = 0;   // −Σ α ln α; NaN if some α < 0
  double square = 0;    // Σ α²
  double distance = 0;  // Σ α |query − key|
};

// Keys per entry of block_maxima().
inline constexpr int kBlock = 16;

// `row` [n]; key j stands at position first_key + j.
Moments moments(const float* row, int n, int query, int first_key);
Moments moments(const double* row, int n, int query, int first_key);

// key_sum[j] += row[j]; cell_max[j] = max(cell_max[j], row[j]).
void fold(const float* row, int n, double* key_sum, float* cell_max);
void fold(const double* row, int n, double* key_sum, float* cell_max);

// maxima[b] = the largest of row[kBlock·b … kBlock·b + kBlock − 1], the last block may be short.
void block_maxima(const float* row, int n, float* maxima);
void block_maxima(const double* row, int n, double* maxima);

// True if some value is not 0.
bool any_nonzero(const float* row, int n);
bool any_nonzero(const double* row, int n);

}  // namespace attnscope::row_kernels
