// File: multiplicity.h
// Adjusted p-values of many tests; NaN entries are left out of the family and stay NaN.
#pragma once

#include <span>
#include <vector>

namespace attnscope {

// False discovery rate, independent or positively dependent tests (Benjamini and Hochberg 1995).
std::vector<double> benjamini_hochberg(std::span<const double> p);
// The same under any dependence (Benjamini and Yekutieli 2001).
std::vector<double> benjamini_yekutieli(std::span<const double> p);
// Family-wise error under any dependence (Holm 1979).
std::vector<double> holm(std::span<const double> p);

}  // namespace attnscope
