// File: pairwise_tau.h
// Kendall's τ-b from its definition, the oracle of the fast one.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace attnscope::testing {

// Pairs one by one, of the same stratum only; without what is NaN.
template <typename Stratum>
double pairwise_tau_b(const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<Stratum>& strata) {
  double score = 0, untied_x = 0, untied_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (strata[i] != strata[j] || std::isnan(x[i] + y[i] + x[j] + y[j])) continue;
      const double dx = x[i] - x[j], dy = y[i] - y[j];
      score += dx * dy > 0 ? 1 : dx * dy < 0 ? -1 : 0;
      untied_x += dx != 0 ? 1 : 0;
      untied_y += dy != 0 ? 1 : 0;
    }
  }
  return score / std::sqrt(untied_x * untied_y);
}

}  // namespace attnscope::testing
