#include "attnscope/stats/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "samples.h"

namespace attnscope {
namespace {

const std::vector<double> kSkewed = {1.2, .4,  3.1, .7,  .2, 5.9, 1.1, .6, 2.2, .9,
                                     .3,  1.6, .8,  4.0, .5, 2.7, 1.0, .1, 1.9, .65};

ClusterSums one_unit(const std::vector<double>& values) {
  return sum_by_cluster(values, 1, clusters_of_size(values.size(), 1));
}

const ResamplingOptions kMany = {.draws = 100000, .seed = 2};

// numpy 2: t* of 400,000 resamples of kSkewed, quantiles .025 and .975 of t* and .95 of |t*|.
TEST(Bootstrap, StudentisedAgreesWithNumpy) {
  const MeanIntervals got = bootstrap_means(one_unit(kSkewed), IntervalMethod::studentised, kMany);
  EXPECT_NEAR(got.pointwise[0].low, 0.9456, .006);
  EXPECT_NEAR(got.pointwise[0].high, 2.5842, .012);
  EXPECT_NEAR(got.critical, 2.5871, .03);
  EXPECT_NEAR(got.simultaneous[0].high - got.simultaneous[0].low, 2 * got.critical * 0.32883917,
              1e-7);
}

// scipy.stats.bootstrap with 400,000 resamples, scipy 1.17.1.
TEST(Bootstrap, BcaAndPercentileAgreeWithScipy) {
  const Interval bca = bootstrap_means(one_unit(kSkewed), IntervalMethod::bca, kMany).pointwise[0];
  EXPECT_NEAR(bca.low, 1.0025, .006);
  EXPECT_NEAR(bca.high, 2.33, .012);
  const Interval percentile =
      bootstrap_means(one_unit(kSkewed), IntervalMethod::percentile, kMany).pointwise[0];
  EXPECT_NEAR(percentile.low, .9275, .006);
  EXPECT_NEAR(percentile.high, 2.1725, .012);
}

// The mean as a statistic of any kind has the intervals of the mean: the draws are the same.
TEST(Bootstrap, AnyStatisticSharesTheDrawsOfTheMeans) {
  const ClusterStatistic mean = [](std::span<const double> weights, std::span<double> out) {
    double total = 0, count = 0;
    for (std::size_t i = 0; i < kSkewed.size(); ++i) {
      total += weights[i] * kSkewed[i];
      count += weights[i];
    }
    out[0] = total / count;
    out[1] = 2 * out[0];
  };
  for (const IntervalMethod method :
       {IntervalMethod::bca, IntervalMethod::percentile, IntervalMethod::centred}) {
    const Interval want = bootstrap_means(one_unit(kSkewed), method, {.seed = 3}).pointwise[0];
    const auto got = bootstrap_statistics(mean, 2, 20, method, {.seed = 3});
    EXPECT_NEAR(got[0].interval.low, want.low, 1e-12);
    EXPECT_NEAR(got[0].interval.high, want.high, 1e-12);
    EXPECT_NEAR(got[1].interval.high, 2 * want.high, 1e-12);
    EXPECT_NEAR(got[0].estimate, 1.4925, 1e-12);
    EXPECT_EQ(got[0].undefined_share, 0);
  }
}

// The mean of squares: every draw is biased upwards by the variance of its mean, and the centred
// interval is the percentile one moved down by that.
TEST(Bootstrap, CentredIntervalsTakeTheBiasOfTheDrawsOff) {
  const ClusterStatistic square = [](std::span<const double> weights, std::span<double> out) {
    double total = 0;
    for (std::size_t i = 0; i < kSkewed.size(); ++i) total += weights[i] * kSkewed[i];
    out[0] = total / 20 * total / 20;
  };
  const Interval raw =
      bootstrap_statistics(square, 1, 20, IntervalMethod::percentile, kMany)[0].interval;
  const Interval centred =
      bootstrap_statistics(square, 1, 20, IntervalMethod::centred, kMany)[0].interval;
  EXPECT_NEAR(centred.high - centred.low, raw.high - raw.low, 1e-12);
  // The variance of a resample's mean is that of the sample, Σ(x − mean)²/n, over n.
  const double variance = 0.3288391664148616 * 0.3288391664148616 * 19 / 20;
  EXPECT_NEAR(raw.low - centred.low, variance, .02);
}

TEST(Bootstrap, UndefinedDrawsAreCounted) {
  // Undefined where cluster 0 is not drawn: (1 − 1/20)^20 of the draws.
  const ClusterStatistic statistic = [](std::span<const double> weights, std::span<double> out) {
    out[0] = weights[0] > 0 ? weights[0] : std::numeric_limits<double>::quiet_NaN();
  };
  const auto got =
      bootstrap_statistics(statistic, 1, 20, IntervalMethod::percentile, {.draws = 20000});
  EXPECT_NEAR(got[0].undefined_share, std::pow(.95, 20), .015);
  EXPECT_TRUE(got[0].interval.exists());
}

struct Table {
  std::vector<double> values;
  std::vector<int> clusters;
  std::size_t units = 0;
};

// Units that share a part, clusters of 1 to 4 prompts.
Table correlated_units(std::size_t units, std::size_t clusters) {
  Table table;
  table.units = units;
  Philox random(17, 0);
  for (std::size_t c = 0; c < clusters; ++c) {
    for (std::size_t i = 0; i <= c % 4; ++i) table.clusters.push_back(static_cast<int>(c));
  }
  std::vector<double> shared(table.clusters.size());
  for (double& value : shared) value = exponential(random);
  for (std::size_t u = 0; u < units; ++u) {
    for (const double part : shared) table.values.push_back(part + exponential(random));
  }
  return table;
}

// Every draw written out: ratio means, cluster-robust standard errors, unequal clusters.
TEST(Bootstrap, UnequalClustersMatchTheDefinition) {
  const Table table = correlated_units(1, 12);
  const ClusterSums sums = sum_by_cluster(table.values, 1, table.clusters);
  const MeanEstimate estimate = estimate_mean(sums, 0);
  double mean = 0;
  for (const double value : table.values) mean += value / static_cast<double>(table.values.size());
  EXPECT_NEAR(estimate.mean, mean, 1e-14);

  std::vector<double> t;
  const ClusterStatistic studentised = [&](std::span<const double> weights, std::span<double> out) {
    double total = 0, prompts = 0, squares = 0;
    for (std::size_t c = 0; c < 12; ++c) {
      total += weights[c] * sums.sums[c];
      prompts += weights[c] * sums.sizes[c];
    }
    for (std::size_t c = 0; c < 12; ++c) {
      squares += weights[c] * std::pow(sums.sums[c] - total / prompts * sums.sizes[c], 2);
    }
    const double se = std::sqrt(12.0 / 11 * squares) / prompts;
    out[0] = (total / prompts - estimate.mean) / std::max(se, .25 * estimate.se);
  };
  const Interval quantiles =
      bootstrap_statistics(studentised, 1, 12, IntervalMethod::percentile, {.seed = 8})[0].interval;
  const Interval got = bootstrap_means(sums, IntervalMethod::studentised, {.seed = 8}).pointwise[0];
  EXPECT_NEAR(got.low, estimate.mean - quantiles.high * estimate.se, 1e-9);
  EXPECT_NEAR(got.high, estimate.mean - quantiles.low * estimate.se, 1e-9);
}

TEST(Bootstrap, ThreadsDoNotChangeTheResult) {
  const Table table = correlated_units(300, 15);
  const ClusterSums sums = sum_by_cluster(table.values, table.units, table.clusters);
  const ResamplingOptions one = {.draws = 777, .seed = 5},
                          three = {.draws = 777, .seed = 5, .threads = 3};
  const MeanIntervals a = bootstrap_means(sums, IntervalMethod::studentised, one);
  const MeanIntervals b = bootstrap_means(sums, IntervalMethod::studentised, three);
  EXPECT_EQ(a.critical, b.critical);
  for (std::size_t u = 0; u < table.units; ++u) {
    EXPECT_EQ(a.pointwise[u].low, b.pointwise[u].low);
    EXPECT_EQ(a.simultaneous[u].high, b.simultaneous[u].high);
  }
}

TEST(Bootstrap, SeedAndStreamChangeTheDraws) {
  const ClusterSums sums = one_unit(kSkewed);
  const auto low = [&](const ResamplingOptions& options) {
    return bootstrap_means(sums, IntervalMethod::percentile, options).pointwise[0].low;
  };
  EXPECT_NE(low({.draws = 500, .seed = 1}), low({.draws = 500, .seed = 2}));
  EXPECT_NE(low({.draws = 500, .seed = 1}), low({.draws = 500, .seed = 1, .stream = 1}));
}

// A unit's interval does not depend on which other units stand beside it, and a copy of a unit adds
// nothing to the maximum.
TEST(Bootstrap, UnitsShareTheirDraws) {
  const MeanIntervals alone =
      bootstrap_means(one_unit(kSkewed), IntervalMethod::studentised, {.seed = 6});
  std::vector<double> copies;
  for (int u = 0; u < 520; ++u) copies.insert(copies.end(), kSkewed.begin(), kSkewed.end());
  const MeanIntervals many = bootstrap_means(sum_by_cluster(copies, 520, clusters_of_size(20, 1)),
                                             IntervalMethod::studentised, {.seed = 6});
  EXPECT_EQ(many.critical, alone.critical);
  for (const Interval& interval : many.pointwise) EXPECT_EQ(interval.low, alone.pointwise[0].low);
}

TEST(Bootstrap, ConstantSparseAndMissingUnits) {
  std::vector<double> values = kSkewed;        // unit 0: varies
  values.insert(values.end(), 20, -4.999773);  // unit 1: constant
  values.insert(values.end(), 20, 0.0);        // unit 2: sparse
  values[45] = 3;
  values.insert(values.end(), 20, 1.0);  // unit 3: a value is missing
  values[65] = std::numeric_limits<double>::quiet_NaN();
  const ClusterSums sums = sum_by_cluster(values, 4, clusters_of_size(20, 1));
  EXPECT_EQ(estimate_mean(sums, 0).variation, Variation::full);
  EXPECT_EQ(estimate_mean(sums, 1).variation, Variation::constant);
  EXPECT_EQ(estimate_mean(sums, 1).se, 0);
  EXPECT_EQ(estimate_mean(sums, 2).variation, Variation::sparse);
  EXPECT_EQ(estimate_mean(sums, 3).variation, Variation::missing);

  const MeanIntervals got = bootstrap_means(sums, IntervalMethod::studentised, {.seed = 6});
  EXPECT_EQ(got.critical,
            bootstrap_means(one_unit(kSkewed), IntervalMethod::studentised, {.seed = 6}).critical);
  EXPECT_NEAR(got.pointwise[1].low, -4.999773, 1e-12);
  EXPECT_EQ(got.pointwise[1].low, got.pointwise[1].high);
  EXPECT_EQ(got.simultaneous[1].low, got.simultaneous[1].high);
  EXPECT_EQ(got.kinds[0], IntervalKind::regular);
  EXPECT_EQ(got.kinds[1], IntervalKind::point);
  // One cluster of 20 has the value 3: the upper end is 5/20 of it, the lower end its smallest
  // value.
  EXPECT_EQ(got.kinds[2], IntervalKind::few_clusters);
  EXPECT_NEAR(got.pointwise[2].high, 5 * 3.0 / 20, 1e-12);
  EXPECT_EQ(got.pointwise[2].low, 0);
  EXPECT_FALSE(got.simultaneous[2].exists());
  EXPECT_EQ(got.kinds[3], IntervalKind::missing);
  EXPECT_FALSE(got.pointwise[3].exists());
  EXPECT_TRUE(bootstrap_means(sums, IntervalMethod::percentile, {}).pointwise[2].exists());
}

TEST(Bootstrap, NineClustersAreTooFew) {
  Table table = correlated_units(1, 9);
  const ClusterSums nine = sum_by_cluster(table.values, 1, table.clusters);
  for (const IntervalMethod method :
       {IntervalMethod::studentised, IntervalMethod::bca, IntervalMethod::percentile}) {
    EXPECT_FALSE(bootstrap_means(nine, method, {}).pointwise[0].exists());
    EXPECT_EQ(bootstrap_means(nine, method, {}).kinds[0], IntervalKind::too_few_clusters);
  }
  table = correlated_units(1, 10);
  const ClusterSums ten = sum_by_cluster(table.values, 1, table.clusters);
  EXPECT_TRUE(bootstrap_means(ten, IntervalMethod::studentised, {}).pointwise[0].exists());
}

// numpy 2: 400,000 resamples without the bound give [−88.5, 0.44]; with it [−7.25, 0.44]. A
// resample misses the first group in (11/12)^12 of the cases.
const std::vector<double> kOneCarries = {-17, .2,   -.1, .05, .12,  -.04,
                                         .08, -.15, .01, .18, -.07, .03};

TEST(Bootstrap, OneClusterThatCarriesTheEffectIsBounded) {
  const MeanIntervals got =
      bootstrap_means(one_unit(kOneCarries), IntervalMethod::studentised, kMany);
  EXPECT_NEAR(got.pointwise[0].low, -7.25, .03);
  EXPECT_EQ(got.pointwise[0].high, .2);  // .44 is beyond all groups
  EXPECT_EQ(got.kinds[0], IntervalKind::few_clusters);
  EXPECT_FALSE(got.simultaneous[0].exists());
}

// However many clusters carry the effect, no end lies outside what the clusters show, and the other
// units' intervals are what they are without this one.
TEST(Bootstrap, CarriersNeitherReachBeyondTheDataNorWidenOthers) {
  Philox random(29, 0);
  std::vector<double> other(12);
  for (double& value : other) value = normal(random);
  const double alone =
      bootstrap_means(one_unit(other), IntervalMethod::studentised, {.seed = 6}).critical;
  for (std::size_t carriers = 1; carriers < 12; ++carriers) {
    std::vector<double> values;
    for (std::size_t i = 0; i < 12; ++i) {
      values.push_back((i < carriers ? 10 : 0) + .1 * normal(random));
    }
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double low = *least, high = *most;
    values.insert(values.end(), other.begin(), other.end());
    const MeanIntervals got = bootstrap_means(sum_by_cluster(values, 2, clusters_of_size(12, 1)),
                                              IntervalMethod::studentised, {.seed = 6});
    EXPECT_GE(got.pointwise[0].low, low) << carriers;
    EXPECT_LE(got.pointwise[0].high, high) << carriers;
    EXPECT_LT(got.pointwise[0].low, got.pointwise[0].high) << carriers;
    // 3 of 12 are all missed by (9/12)^12 = 3.2 % of the resamples, 4 by 0.8 %.
    const bool few = carriers <= 3 || carriers >= 9;
    EXPECT_EQ(got.kinds[0] == IntervalKind::few_clusters, few) << carriers;
    EXPECT_EQ(got.simultaneous[0].exists(), !few) << carriers;
    if (few) {
      EXPECT_EQ(got.critical, alone) << carriers;
    }
    EXPECT_LT(got.critical, 4 * 3.5) << carriers;
  }
}

// A reduced form of the calibration in probes/verdict: 4 standard deviations around 95 %.
TEST(Bootstrap, StudentisedIntervalsCoverSkewedMeans) {
  constexpr int kRepeats = 300;
  Philox random(23, 0);
  int covered = 0;
  for (int r = 0; r < kRepeats; ++r) {
    std::vector<double> values;
    for (int c = 0; c < 50; ++c) {
      const double shared = exponential(random);
      for (int i = 0; i < 3; ++i) values.push_back(shared + exponential(random));
    }
    const Interval interval = bootstrap_means(sum_by_cluster(values, 1, clusters_of_size(50, 3)),
                                              IntervalMethod::studentised,
                                              {.draws = 999, .seed = static_cast<std::uint64_t>(r)})
                                  .pointwise[0];
    covered += interval.low <= 0 && interval.high >= 0 ? 1 : 0;
  }
  EXPECT_NEAR(covered / static_cast<double>(kRepeats), .95, .051);
}

}  // namespace
}  // namespace attnscope
