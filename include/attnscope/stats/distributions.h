// File: distributions.h
// Normal and Student t distributions, and quantiles of a sample.
#pragma once

#include <span>

namespace attnscope {

double normal_cdf(double x);
// p in (0, 1); ±infinity at 0 and 1, NaN outside.
double normal_quantile(double p);

// Degrees of freedom df > 0; infinity is the normal distribution.
double student_t_cdf(double t, double df);
double student_t_quantile(double p, double df);

// Quantile p of values in ascending order, by linear interpolation between order statistics
// (Hyndman and Fan 1996, type 7: what numpy does). NaN of an empty sample.
double sorted_quantile(std::span<const double> sorted, double p);

}  // namespace attnscope
