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
  EXPECT_NEAR(within_stratum_p(x, y, layers, {.draws = 20000, .seed = 1}), 2.0 / 36, .006);
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
  EXPECT_GT(within_stratum_p(x, y, layers, {.draws = 2000}), .02);
}

TEST(Permutation, UndefinedCorrelationHasNoP) {
  const std::vector<double> same = {1, 1, 1}, y = {1, 2, 3};
  EXPECT_TRUE(std::isnan(within_stratum_p(same, y, std::vector<int>(3, 0), {})));
}

}  // namespace
}  // namespace attnscope
