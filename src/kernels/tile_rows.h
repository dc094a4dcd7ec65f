// File: tile_rows.h
// The loops that turn rows of scores into rows of weights, for float and double. Like those of
// row_kernels.h they are compiled for several instruction sets.
#pragma once

namespace attnscope::row_kernels {

// With x_j = score_j − shift and p_j = e^x_j.
struct ExpSums {
  double sum = 0;       // Σ p
  double weighted = 0;  // Σ p·x
  double square = 0;    // Σ p²
  double distance = 0;  // Σ p·|query − key|
};

// row[j] := p_j; only `sum` is set. The bits of row and sum are those of the function below.
ExpSums exponentials(float* row, int n, float shift);
ExpSums exponentials(double* row, int n, double shift);

// The same with all sums; distances[j] = |query − key|.
ExpSums exponentials_and_sums(float* row, int n, float shift, const float* distances);
ExpSums exponentials_and_sums(double* row, int n, double shift, const double* distances);

double sum(const float* row, int n);
double sum(const double* row, int n);

// row[j] := cap·tanh(row[j] / cap).
void soft_cap(float* row, int n, float cap);
void soft_cap(double* row, int n, double cap);

// row[j] += other[j]; row[j] += constant.
void add(float* row, int n, const float* other);
void add(double* row, int n, const double* other);
void add_constant(float* row, int n, float constant);
void add_constant(double* row, int n, double constant);

// out[j] := factor·row[j]; `out` may be `row`.
void scale(const float* row, int n, float factor, float* out);
void scale(const double* row, int n, double factor, double* out);

}  // namespace attnscope::row_kernels
