#include "attnscope/stats/nulls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attnscope/stats/rank_correlation.h"
#include "samples.h"

namespace attnscope {
namespace {

// scipy.stats.permutation_test(permutation_type="samples", n_resamples=inf) of mean / (sd/√n),
// scipy 1.17.1: 16 of 1024 flips.
TEST(SignFlip, AgreesWithScipy) {
  const std::vector<double> values = {.3, -.1, .8, .4, .5, -.2, .9, .1, .6, .7};
  const SignFlipResult got = sign_flip_test(sum_by_cluster(values, 1, clusters_of_size(10, 1)), {});
  EXPECT_TRUE(got.exact);
  EXPECT_EQ(got.p[0], 16.0 / 1024);
  EXPECT_EQ(got.p_adjusted[0], 16.0 / 1024);
}

struct Table {
  ClusterSums sums;
  std::size_t clusters = 0;
};

Table unequal_table(std::size_t units, std::size_t n_clusters, std::uint64_t seed) {
  std::vector<int> clusters;
  for (std::size_t c = 0; c < n_clusters; ++c) {
    for (std::size_t i = 0; i <= c % 3; ++i) clusters.push_back(static_cast<int>(c));
  }
  Philox random(seed, 0);
  std::vector<double> values(units * clusters.size());
  for (double& value : values) value = normal(random) + .25;
  return {sum_by_cluster(values, units, clusters), n_clusters};
}

// |mean / cluster-robust se| of one unit under one flip, from the definition.
double studentised(const ClusterSums& sums, std::size_t unit, std::size_t mask) {
  double total = 0, squares = 0;
  std::vector<double> flipped;
  for (std::size_t c = 0; c < sums.clusters; ++c) {
    flipped.push_back((mask >> c & 1) != 0 ? -sums.of(unit)[c] : sums.of(unit)[c]);
    total += flipped.back();
  }
  for (std::size_t c = 0; c < sums.clusters; ++c) {
    squares += std::pow(flipped[c] - total / sums.prompts * sums.sizes[c], 2);
  }
  return std::fabs(total) / std::sqrt(squares);
}

TEST(SignFlip, EnumerationMatchesTheDefinition) {
  const Table table = unequal_table(3, 11, 2);
  const SignFlipResult got = sign_flip_test(table.sums, {});
  ASSERT_TRUE(got.exact);
  for (std::size_t u = 0; u < 3; ++u) {
    const double observed = studentised(table.sums, u, 0) * (1 - 1e-9);
    int alone = 0, largest = 0;
    for (std::size_t mask = 0; mask < 2048; ++mask) {
      double most = 0;
      for (std::size_t v = 0; v < 3; ++v) {
        const double t = studentised(table.sums, v, mask);
        most = std::max(most, t);
        if (v == u && t >= observed) ++alone;
      }
      if (most >= observed) ++largest;
    }
    EXPECT_EQ(got.p[u], alone / 2048.0);
    EXPECT_EQ(got.p_adjusted[u], largest / 2048.0);
  }
}

// 2^14 flips are more than 10,000 draws but few enough to compare with all of them.
TEST(SignFlip, RandomFlipsApproachEnumeration) {
  const Table table = unequal_table(2, 14, 4);
  const SignFlipResult random = sign_flip_test(table.sums, {.draws = 10000, .seed = 1});
  const SignFlipResult all = sign_flip_test(table.sums, {.draws = 20000});
  EXPECT_FALSE(random.exact);
  EXPECT_TRUE(all.exact);
  for (std::size_t u = 0; u < 2; ++u) {
    EXPECT_NEAR(random.p[u], all.p[u], 4 * std::sqrt(all.p[u] / 10000) + 1e-4);
    EXPECT_NEAR(random.p_adjusted[u], all.p_adjusted[u],
                4 * std::sqrt(all.p_adjusted[u] / 10000) + 1e-4);
  }
}

TEST(SignFlip, SmallestPIsOneInDrawsPlusOne) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(5 + .01 * i);
  const SignFlipResult got =
      sign_flip_test(sum_by_cluster(values, 1, clusters_of_size(40, 1)), {.draws = 999});
  EXPECT_EQ(got.p[0], 1.0 / 1000);
}

TEST(SignFlip, ConstantUnits) {
  std::vector<double> values(20, -5.0);  // unit 0: constant
  values.insert(values.end(), 20, 0.0);  // unit 1: no effect at all
  for (int i = 0; i < 20; ++i) values.push_back(i % 2 == 0 ? .4 : -.3 - .01 * i);  // unit 2
  values.insert(values.end(), 20, 0.0);  // unit 3: missing
  values.back() = std::numeric_limits<double>::quiet_NaN();
  const ClusterSums sums = sum_by_cluster(values, 4, clusters_of_size(20, 1));
  const SignFlipResult got = sign_flip_test(sums, {.seed = 3});
  EXPECT_LT(got.p[0], .001);
  EXPECT_LT(got.p_adjusted[0], .001);
  EXPECT_EQ(got.p[1], 1);
  EXPECT_EQ(got.p_adjusted[1], 1);
  EXPECT_NEAR(got.p_adjusted[2], got.p[2], 1e-12);  // alone in the maximum
  EXPECT_TRUE(std::isnan(got.p[3]));
  EXPECT_TRUE(std::isnan(got.p_adjusted[3]));
}

TEST(SignFlip, NineClustersAreTooFew) {
  EXPECT_TRUE(std::isnan(sign_flip_test(unequal_table(1, 9, 1).sums, {}).p[0]));
}

TEST(SignFlip, ThreadsDoNotChangeTheResult) {
  const Table table = unequal_table(300, 30, 9);
  const SignFlipResult a = sign_flip_test(table.sums, {.draws = 999, .seed = 2});
  const SignFlipResult b = sign_flip_test(table.sums, {.draws = 999, .seed = 2, .threads = 3});
  EXPECT_EQ(a.p, b.p);
  EXPECT_EQ(a.p_adjusted, b.p_adjusted);
}

// Under an exact null p is uniform and the smallest adjusted p is at most 5 % in 5 % of the runs:
// 4 standard deviations.
TEST(SignFlip, HoldsItsLevelOnSkewedValuesWithRandomSigns) {
  constexpr int kRepeats = 400, kUnits = 12;
  int single = 0, any = 0;
  for (int r = 0; r < kRepeats; ++r) {
    Philox random(31, static_cast<std::uint64_t>(r));
    std::vector<double> values(kUnits * 30);
    for (int c = 0; c < 30; ++c) {
      const double sign = random.below(2) == 0 ? 1 : -1;
      for (int u = 0; u < kUnits; ++u) {
        values[static_cast<std::size_t>(u * 30 + c)] = sign * (1 + exponential(random));
      }
    }
    const SignFlipResult got =
        sign_flip_test(sum_by_cluster(values, kUnits, clusters_of_size(30, 1)),
                       {.draws = 999, .seed = static_cast<std::uint64_t>(r)});
    single += got.p[3] <= .05 ? 1 : 0;
    any += *std::min_element(got.p_adjusted.begin(), got.p_adjusted.end()) <= .05 ? 1 : 0;
  }
  EXPECT_NEAR(single / static_cast<double>(kRepeats), .05, .044);
  EXPECT_NEAR(any / static_cast<double>(kRepeats), .05, .044);
}

TEST(Permutation, StaysInsideStrata) {
  const std::vector<double> values = {1, 2, 3, 10, 20, 30, 100};
  const std::vector<int> strata = {0, 0, 0, 1, 1, 1, 2};
  bool moved = false;
  for (std::uint64_t draw = 0; draw < 50; ++draw) {
    std::vector<double> got = permute_within(values, strata, 1, draw);
    moved = moved || got != values;
    std::sort(got.begin(), got.begin() + 3);
    std::sort(got.begin() + 3, got.begin() + 6);
    EXPECT_EQ(got, values);
  }
  EXPECT_TRUE(moved);
}

// Two layers of three: 36 permutations; the order agrees in full under one and disagrees under one.
TEST(Permutation, POfPerfectAgreement) {
  const std::vector<double> x = {1, 2, 3, 1, 2, 3}, y = {4, 5, 6, 40, 50, 60};
  const std::vector<int> layers = {0, 0, 0, 1, 1, 1};
  const StratumTest got = within_stratum_test(x, y, layers, {});
  EXPECT_EQ(got.shuffles, 0);
  EXPECT_NEAR(got.p, 2.0 / 36, 1e-15);
}

// 1 … n in an order with so many inversions.
std::vector<double> order_with(std::size_t n, std::size_t inversions) {
  std::vector<double> order;
  for (std::size_t k = 1; k <= n; ++k) {
    const std::size_t behind = std::min(inversions, k - 1);
    inversions -= behind;
    order.insert(order.end() - static_cast<std::ptrdiff_t>(behind), static_cast<double>(k));
  }
  return order;
}

// Four layers of eight. Figures of four digits that were worked out elsewhere.
TEST(Permutation, ExactPOfFourLayersOfEight) {
  std::vector<int> layers;
  for (int i = 0; i < 32; ++i) layers.push_back(i / 8);
  struct Case {
    double tau, p;
  };
  for (const Case& c : {Case{.303571, .0404}, Case{.357143, .0149}, Case{.160714, .2954}}) {
    for (const int side : {1, -1}) {
      auto left = static_cast<std::size_t>(std::lround(112 * (1 - side * c.tau) / 2));
      std::vector<double> x, y;
      for (int layer = 0; layer < 4; ++layer) {
        const std::size_t here = std::min<std::size_t>(left, 28);
        left -= here;
        const std::vector<double> order = order_with(8, here);
        y.insert(y.end(), order.begin(), order.end());
        for (int i = 0; i < 8; ++i) x.push_back(i);
      }
      EXPECT_NEAR(stratified_tau_b(x, y, layers), side * c.tau, 5e-7);
      const StratumTest got = within_stratum_test(x, y, layers, {});
      EXPECT_EQ(got.shuffles, 0);
      EXPECT_NEAR(got.p, c.p, 5e-5);
    }
  }
}

// Shares of all orders of x in layers of `sizes` whose |tau-b| is at least the one seen.
double enumerated_p(const std::vector<std::size_t>& sizes, const std::vector<double>& x,
                    const std::vector<double>& y, const std::vector<int>& layers) {
  const double seen = std::fabs(stratified_tau_b(x, y, layers)) - 1e-12;
  std::vector<double> order = x;
  for (std::size_t begin = 0, l = 0; l < sizes.size(); begin += sizes[l++]) {
    const auto at = order.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(at, at + static_cast<std::ptrdiff_t>(sizes[l]));
  }
  int all = 0, as_extreme = 0;
  for (bool more = true; more;) {
    ++all;
    if (std::fabs(stratified_tau_b(order, y, layers)) >= seen) ++as_extreme;
    more = false;
    for (std::size_t begin = 0, l = 0; l < sizes.size() && !more; begin += sizes[l++]) {
      const auto at = order.begin() + static_cast<std::ptrdiff_t>(begin);
      more = std::next_permutation(at, at + static_cast<std::ptrdiff_t>(sizes[l]));
    }
  }
  return static_cast<double>(as_extreme) / all;
}

// Ones without ties are exact; with ties, shuffles come near: four standard errors.
TEST(Permutation, EqualsAllOrdersOfSmallLayers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Philox random(8, 0);
  for (const std::vector<std::size_t>& sizes : std::vector<std::vector<std::size_t>>{
           {2}, {5}, {3, 1, 3}, {4, 4}, {2, 3, 2, 2}, {1, 6}, {3, 5}}) {
    for (int round = 0; round < 6; ++round) {
      std::vector<double> x, y;
      std::vector<int> layers;
      for (std::size_t layer = 0; layer < sizes.size(); ++layer) {
        for (std::size_t i = 0; i < sizes[layer]; ++i) {
          x.push_back(normal(random));
          y.push_back(normal(random));
          layers.push_back(static_cast<int>(layer));
        }
      }
      const double exact = enumerated_p(sizes, x, y, layers);
      std::vector<double> with_gaps_x = x, with_gaps_y = y;
      std::vector<int> with_gaps = layers;
      with_gaps_x.insert(with_gaps_x.begin(), {nan, 7});  // units that are left out
      with_gaps_y.insert(with_gaps_y.begin(), {7, nan});
      with_gaps.insert(with_gaps.begin(), {0, 0});
      const StratumTest got = within_stratum_test(with_gaps_x, with_gaps_y, with_gaps, {});
      EXPECT_EQ(got.shuffles, 0);
      EXPECT_NEAR(got.p, exact, 1e-12);
      if (x.size() < 4) continue;
      const auto coarse = [](std::vector<double> values) {
        for (double& value : values) value = value > .5 ? 1 : value < -.5 ? -1 : 0;
        return values;
      };
      const std::vector<double> tied = coarse(y);
      if (std::isnan(stratified_tau_b(x, tied, layers))) continue;
      const double want = enumerated_p(sizes, x, tied, layers);
      const StratumTest of_ties = within_stratum_test(x, tied, layers, {.draws = 20000});
      EXPECT_NEAR(of_ties.p, want, 4 * std::sqrt(want * (1 - want) / 20000) + 1e-4);
      EXPECT_NEAR(within_stratum_test(tied, x, layers, {.draws = 20000}).p, want,
                  4 * std::sqrt(want * (1 - want) / 20000) + 1e-4);
    }
  }
}

// Ties in either variable, and ties across layers only, which are none.
TEST(Permutation, ShufflesOnlyWhereSomethingTiesWithinALayer) {
  const std::vector<double> x = {1, 2, 3, 1, 2, 3}, tied = {1, 1, 3, 4, 5, 6};
  const std::vector<int> layers = {0, 0, 0, 1, 1, 1};
  const ResamplingOptions options{.draws = 500};
  EXPECT_EQ(within_stratum_test(x, x, layers, options).shuffles, 0);
  EXPECT_EQ(within_stratum_test(x, tied, layers, options).shuffles, 500);
  EXPECT_EQ(within_stratum_test(tied, x, layers, options).shuffles, 500);
}

// Layers of 32 in full agreement: 2 / 32! of one, and never 0, whatever the number of layers. So
// many pairs in one layer that the exact null would take long are shuffled.
TEST(Permutation, FarTailsAndManyPairs) {
  std::vector<double> x;
  std::vector<int> layers;
  for (int i = 0; i < 32 * 32; ++i) {
    x.push_back(i);
    layers.push_back(i / 32);
  }
  const std::vector<double> one(x.begin(), x.begin() + 32);
  EXPECT_NEAR(within_stratum_test(one, one, std::vector<int>(32, 0), {}).p / 7.6008e-36, 1, 1e-4);
  const double least = within_stratum_test(x, x, layers, {}).p;
  EXPECT_GT(least, 0);
  EXPECT_LT(least, 1e-300);
  EXPECT_EQ(within_stratum_test(x, x, std::vector<int>(x.size(), 0), {.draws = 20}).shuffles, 20);
}

// Between layers both rise together; a permutation that mixed layers would call that significant.
TEST(Permutation, LayersExplainNothing) {
  Philox random(3, 0);
  std::vector<double> x, y;
  std::vector<int> layers;
  for (int i = 0; i < 60; ++i) {
    layers.push_back(i / 6);
    x.push_back(100 * (i / 6) + normal(random));
    y.push_back(100 * (i / 6) + normal(random));
  }
  EXPECT_GT(kendall_tau_b(x, y), .8);
  EXPECT_GT(within_stratum_test(x, y, layers, {}).p, .02);
}

TEST(Permutation, UndefinedCorrelationHasNoP) {
  const std::vector<double> same = {1, 1, 1}, y = {1, 2, 3};
  EXPECT_TRUE(std::isnan(within_stratum_test(same, y, std::vector<int>(3, 0), {}).p));
}

}  // namespace
}  // namespace attnscope
