#include "attnscope/stats/effects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attnscope/stats/equivalence.h"
#include "attnscope/stats/nulls.h"
#include "attnscope/support/error.h"
#include "samples.h"

namespace attnscope {
namespace {

// Two units on 30 clusters of 2: one with a clear effect, one without.
TEST(Effects, TableHoldsWhatTheMethodsSay) {
  const std::vector<int> clusters = clusters_of_size(30, 2);
  Philox random(3, 0);
  std::vector<double> values;
  for (int u = 0; u < 2; ++u) {
    for (int i = 0; i < 60; ++i) values.push_back((u == 0 ? 2 : 0) + .5 * normal(random));
  }
  const EffectTable table = estimate_effects(values, 2, clusters, {.seed = 1});
  EXPECT_EQ(table.clusters, 30u);
  EXPECT_EQ(table.prompts, 60u);
  const EffectEstimate& clear = table.units[0];
  EXPECT_NEAR(clear.effect, 2, .3);
  EXPECT_LT(clear.ci_sim.low, clear.ci.low);
  EXPECT_GT(clear.ci_sim.low, 1);
  EXPECT_LT(clear.p, .001);
  EXPECT_LT(clear.p_adjusted, .001);
  const EffectEstimate& none = table.units[1];
  EXPECT_LT(none.ci.low, 0);
  EXPECT_GT(none.ci.high, 0);
  EXPECT_GE(none.p_adjusted, none.p);
  const ClusterSums sums = sum_by_cluster(values, 2, clusters);
  EXPECT_EQ(none.minimal_detectable, minimal_detectable_effect(estimate_mean(sums, 1), 30));
  EXPECT_EQ(none.p, sign_flip_test(sums, {.seed = 1}).p[1]);
}

// All else is the same; p is no number.
TEST(Effects, WithoutSignFlipsThereIsNoP) {
  const std::vector<int> clusters = clusters_of_size(12, 1);
  Philox random(3, 0);
  std::vector<double> values;
  for (int i = 0; i < 24; ++i) values.push_back(1e-7 * (1 + random.uniform()));
  const EffectTable flipped = estimate_effects(values, 2, clusters, {.seed = 1});
  const EffectTable table = estimate_effects(values, 2, clusters, {.seed = 1}, SignFlips::off);
  for (std::size_t u = 0; u < 2; ++u) {
    EXPECT_LT(flipped.units[u].p, .001);  // of effects that cannot be negative it says nothing
    EXPECT_TRUE(std::isnan(table.units[u].p));
    EXPECT_TRUE(std::isnan(table.units[u].p_adjusted));
    EXPECT_EQ(table.units[u].effect, flipped.units[u].effect);
    EXPECT_EQ(table.units[u].ci.low, flipped.units[u].ci.low);
    EXPECT_EQ(table.units[u].ci_sim.high, flipped.units[u].ci_sim.high);
    EXPECT_EQ(table.units[u].minimal_detectable, flipped.units[u].minimal_detectable);
  }
}

// 3 clusters of sizes 1, 2, 3: mean 12/6, residuals −1, 1, 0; se² = 3/2 · 2 / 36.
TEST(Effects, ClusterRobustErrorByHand) {
  const std::vector<int> clusters = {7, 2, 2, 9, 9, 9};
  const std::vector<double> values = {1, 2, 3, 1, 2, 3};
  const MeanEstimate estimate = estimate_mean(sum_by_cluster(values, 1, clusters), 0);
  EXPECT_EQ(estimate.mean, 2);
  EXPECT_NEAR(estimate.se, std::sqrt(1.5 * 2 / 36), 1e-15);
}

TEST(Effects, ValuesThatDoNotFitAreABugOfTheCaller) {
  const std::vector<double> values(7, 1.0);
  try {
    estimate_effects(values, 2, clusters_of_size(4, 1), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "SA01");
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_NE(std::string(error.what()).find("2 units of 4 prompts, got 7 values"),
              std::string::npos)
        << error.what();
  }
}

TEST(Effects, FewClustersGiveEstimatesOnly) {
  const std::vector<double> values = {1, 2, 3, 4};
  const EffectTable table = estimate_effects(values, 1, clusters_of_size(4, 1), {});
  EXPECT_EQ(table.units[0].effect, 2.5);
  EXPECT_FALSE(table.units[0].ci.exists());
  EXPECT_FALSE(table.units[0].ci_sim.exists());
  EXPECT_TRUE(std::isnan(table.units[0].p));
  EXPECT_TRUE(std::isnan(table.units[0].minimal_detectable));
}

}  // namespace
}  // namespace attnscope
