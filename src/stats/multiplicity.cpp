#include "attnscope/stats/multiplicity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace attnscope {
namespace {

// Indices of the values that are not NaN, smallest first.
std::vector<std::size_t> ascending(std::span<const double> p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  return order;
}

std::vector<double> step_up(std::span<const double> p, bool any_dependence) {
  const std::vector<std::size_t> order = ascending(p);
  const auto m = static_cast<double>(order.size());
  double penalty = 1;
  if (any_dependence) {
    penalty = 0;
    for (std::size_t i = 1; i <= order.size(); ++i) penalty += 1 / static_cast<double>(i);
  }
  std::vector<double> adjusted(p.size(), std::numeric_limits<double>::quiet_NaN());
  double least = 1;
  for (std::size_t i = order.size(); i > 0; --i) {
    least = std::min(least, p[order[i - 1]] * m * penalty / static_cast<double>(i));
    adjusted[order[i - 1]] = least;
  }
  return adjusted;
}

}  // namespace

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  return step_up(p, false);
}

std::vector<double> benjamini_yekutieli(std::span<const double> p) {
  return step_up(p, true);
}

std::vector<double> holm(std::span<const double> p) {
  const std::vector<std::size_t> order = ascending(p);
  std::vector<double> adjusted(p.size(), std::numeric_limits<double>::quiet_NaN());
  double most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, std::min(1.0, p[order[i]] * static_cast<double>(order.size() - i)));
    adjusted[order[i]] = most;
  }
  return adjusted;
}

}  // namespace attnscope
