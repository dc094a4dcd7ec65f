// Made-up effects with known truth, judged many times: how often is the answer right? The full run
// is verdict_calibration, whose table stands in probes/verdict/README.md; a short one is a test.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attnscope {

struct Repeats {
  int count = 400;
  int draws = 2000;
  std::uint64_t seed = 1;
};

// Shares of repeats under an exact null: skewed effects far from 0, clusters of unequal spread, and
// the sign of every cluster by a fair coin.
struct NullRates {
  double raw = 0;           // p ≤ .05 of one preset unit
  double adjusted = 0;      // any unit with p_adjusted ≤ .05
  double simultaneous = 0;  // any unit whose simultaneous interval excludes 0
};
NullRates null_rates(const Repeats& repeats);

// Share of p ≤ .05 when the true mean is `standard_errors` of its standard errors from 0.
double raw_power(double standard_errors, const Repeats& repeats);

// Shares of the verdicts "causal" of a unit with effect 3δ and "no effect" of a unit without any,
// among 32 units that share part of their noise, when one standard error is `error` × δ.
struct VerdictRates {
  double causal = 0;
  double no_effect = 0;
};
VerdictRates verdict_rates(double error, const Repeats& repeats);

// Intervals of means of 12 or 40 clusters, the values of which are skewed: few clusters carry the
// mean. Also in tests/stats/few_groups.py.
enum class SkewedWorld {
  exponential,
  half_zero,   // exponential, but half of the clusters are exactly 0
  one_in_six,  // about 10 in one of six clusters, about 0 in the others
};
struct SkewedRates {
  double covered = 0;  // pointwise intervals that hold the true mean
  double marked = 0;   // intervals of the kind few_clusters
  double beyond = 0;   // intervals with an end outside the values of the clusters
};
SkewedRates skewed_rates(SkewedWorld world, std::size_t clusters, const Repeats& repeats);
// Share of repeats in which every simultaneous interval of 32 units holds the true mean.
double covered_together(SkewedWorld world, std::size_t clusters, const Repeats& repeats);

enum class Shape { normal, exponential };
// Share of studentised 95 % intervals that hold the true mean: 100 clusters of 5 prompts, half of
// the variance between clusters.
double coverage(Shape shape, const Repeats& repeats);

}  // namespace attnscope
