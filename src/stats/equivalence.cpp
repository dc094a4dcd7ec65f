#include "attnscope/stats/equivalence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/stats/distributions.h"

namespace attnscope {

namespace {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
}  // namespace

double equivalence_p(const MeanEstimate& estimate, std::size_t clusters, double delta) {
  if (clusters < kMinClusters || std::isnan(estimate.se)) return kNaN;
  // Distance to the nearer bound; the p of the two tests is that of the worse one.
  const double inside = delta - std::fabs(estimate.mean);
  if (estimate.se == 0) return inside > 0 ? 0 : 1;
  return student_t_cdf(-inside / estimate.se, static_cast<double>(clusters - 1));
}

double minimal_detectable_effect(const MeanEstimate& estimate, std::size_t clusters) {
  if (clusters < kMinClusters || std::isnan(estimate.se)) return kNaN;
  const auto df = static_cast<double>(clusters - 1);
  return (student_t_quantile(0.975, df) + student_t_quantile(0.8, df)) * estimate.se;
}

}  // namespace attnscope
