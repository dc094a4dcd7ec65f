#include "attnscope/stats/effects.h"

#include <limits>

#include "attnscope/stats/equivalence.h"
#include "attnscope/stats/nulls.h"

namespace attnscope {
namespace {

SignFlipResult no_test(std::size_t units) {
  const std::vector<double> none(units, std::numeric_limits<double>::quiet_NaN());
  return {.p = none, .p_adjusted = none};
}

}  // namespace

EffectTable estimate_effects(std::span<const double> values, std::size_t units,
                             std::span<const int> cluster_of_prompt,
                             const ResamplingOptions& options, SignFlips flips) {
  const ClusterSums sums = sum_by_cluster(values, units, cluster_of_prompt);
  const MeanIntervals intervals = bootstrap_means(sums, IntervalMethod::studentised, options);
  const SignFlipResult test =
      flips == SignFlips::on ? sign_flip_test(sums, options) : no_test(units);
  EffectTable table;
  table.clusters = sums.clusters;
  table.prompts = cluster_of_prompt.size();
  table.critical = intervals.critical;
  table.exact = test.exact;
  table.units.resize(units);
  for (std::size_t u = 0; u < units; ++u) {
    const MeanEstimate mean = estimate_mean(sums, u);
    table.units[u] = {.effect = mean.mean,
                      .se = mean.se,
                      .ci = intervals.pointwise[u],
                      .ci_sim = intervals.simultaneous[u],
                      .interval_kind = intervals.kinds[u],
                      .p = test.p[u],
                      .p_adjusted = test.p_adjusted[u],
                      .minimal_detectable = minimal_detectable_effect(mean, sums.clusters),
                      .variation = mean.variation};
  }
  return table;
}

}  // namespace attnscope
