#include "attnscope/stats/rank_correlation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attnscope/support/philox.h"
#include "testing/pairwise_tau.h"

namespace attnscope {
namespace {

using Values = std::vector<double>;

// By hand: C = 7, D = 1, one tie in each.
TEST(RankCorrelation, WorkedExampleWithTies) {
  const Values x = {1, 2, 2, 3, 4}, y = {1, 3, 2, 2, 5};
  const PairCounts counts = count_pairs(x, y);
  EXPECT_EQ(counts.pairs, 10);
  EXPECT_EQ(counts.tied_x, 1);
  EXPECT_EQ(counts.tied_y, 1);
  EXPECT_EQ(counts.score, 6);
  EXPECT_NEAR(kendall_tau_b(x, y), 2.0 / 3, 1e-15);
  EXPECT_NEAR(spearman(x, y), .763158, 5e-7);
}

TEST(RankCorrelation, WorkedExampleWithoutTies) {
  const Values x = {1, 2, 3, 4}, y = {1, 3, 2, 4};
  EXPECT_NEAR(kendall_tau_b(x, y), 2.0 / 3, 1e-15);
  EXPECT_NEAR(spearman(x, y), .8, 1e-15);
}

// scipy.stats.kendalltau and spearmanr, scipy 1.17.1.
TEST(RankCorrelation, AgreesWithScipyOnManyTies) {
  Values x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back((7 * i * i + 3 * i) % 23);
    y.push_back((5 * i * i + 11 * i + i / 3) % 19);
  }
  EXPECT_NEAR(kendall_tau_b(x, y), 0.01091430576544301, 1e-14);
  EXPECT_NEAR(spearman(x, y), 0.027112570552017837, 1e-14);
}

TEST(RankCorrelation, AllTiedIsUndefined) {
  const Values same = {3, 3, 3}, other = {1, 2, 3};
  EXPECT_TRUE(std::isnan(kendall_tau_b(same, other)));
  EXPECT_TRUE(std::isnan(kendall_tau_b(other, same)));
  EXPECT_TRUE(std::isnan(spearman(same, other)));
  EXPECT_TRUE(std::isnan(kendall_tau_b({}, {})));
}

// Without ties the null variance of tau is 2(2n+5)/(9n(n−1)) (Kendall 1938): .0617 at n = 10.
TEST(RankCorrelation, NullVariance) {
  constexpr int kRepeats = 20000;
  Philox random(5, 0);
  double squares = 0;
  Values x(10), y(10);
  for (int r = 0; r < kRepeats; ++r) {
    for (double& v : x) v = random.uniform();
    for (double& v : y) v = random.uniform();
    squares += std::pow(kendall_tau_b(x, y), 2);
  }
  EXPECT_NEAR(squares / kRepeats, 50.0 / 810, .003);
}

TEST(RankCorrelation, StratifiedEqualsPairsOneByOne) {
  Philox random(11, 0);
  for (int round = 0; round < 50; ++round) {
    const std::size_t n = 2 + random.below(40);
    Values x, y;
    std::vector<int> strata;
    for (std::size_t i = 0; i < n; ++i) {
      x.push_back(random.below(8));
      y.push_back(random.below(8));
      strata.push_back(static_cast<int>(random.below(4)));
    }
    x[0] = std::numeric_limits<double>::quiet_NaN();
    const double want = testing::pairwise_tau_b(x, y, strata);
    const double got = stratified_tau_b(x, y, strata);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got));
    } else {
      EXPECT_NEAR(got, want, 1e-12);
    }
  }
}

// Both grow with the layer, and inside a layer one falls where the other rises: a correlation
// across layers would say the opposite.
TEST(RankCorrelation, StrataAreNotCompared) {
  const Values x = {1, 2, 11, 12, 21, 22}, y = {2, 1, 12, 11, 22, 21};
  const std::vector<int> layers = {0, 0, 1, 1, 2, 2};
  EXPECT_EQ(stratified_tau_b(x, y, layers), -1);
  EXPECT_GT(kendall_tau_b(x, y), .5);
}

TEST(RankCorrelation, MidRanksShareTies) {
  EXPECT_EQ(mid_ranks(Values{5, 1, 5, 9, 5}), (Values{3, 1, 3, 5, 3}));
}

}  // namespace
}  // namespace attnscope
