#include "attnscope/stats/equivalence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace attnscope {
namespace {

MeanEstimate estimate_of(const std::vector<double>& values) {
  std::vector<int> clusters(values.size());
  std::iota(clusters.begin(), clusters.end(), 0);
  return estimate_mean(sum_by_cluster(values, 1, clusters), 0);
}

const std::vector<double> kValues = {.02, -.05, .03, .08, -.02, .01, .04, -.03, .06, 0, .02, -.01};

// max of scipy.stats.t.sf((mean + .06)/se, 11) and t.cdf((mean − .06)/se, 11), scipy 1.17.1.
TEST(Equivalence, AgreesWithScipy) {
  const MeanEstimate estimate = estimate_of(kValues);
  EXPECT_NEAR(estimate.mean, .0125, 1e-15);
  EXPECT_NEAR(estimate.se, 0.010809998177893491, 1e-15);
  EXPECT_NEAR(equivalence_p(estimate, 12, .06), 0.0005368490755064394, 1e-14);
}

TEST(Equivalence, IsSymmetricAndHalfAtTheBound) {
  EXPECT_EQ(equivalence_p({.mean = .01, .se = .02}, 20, .05),
            equivalence_p({.mean = -.01, .se = .02}, 20, .05));
  EXPECT_EQ(equivalence_p({.mean = .05, .se = .02}, 20, .05), .5);
  EXPECT_GT(equivalence_p({.mean = .09, .se = .02}, 20, .05), .9);
}

TEST(Equivalence, NoSpreadIsDecidedByThePoint) {
  EXPECT_EQ(equivalence_p({.mean = .01, .se = 0}, 20, .05), 0);
  EXPECT_EQ(equivalence_p({.mean = .05, .se = 0}, 20, .05), 1);
  EXPECT_EQ(equivalence_p({.mean = -.3, .se = 0}, 20, .05), 1);
}

TEST(Equivalence, NineClustersAreTooFew) {
  EXPECT_TRUE(std::isnan(equivalence_p({.mean = 0, .se = .02}, 9, .05)));
  EXPECT_TRUE(std::isnan(minimal_detectable_effect({.mean = 0, .se = .02}, 9)));
  EXPECT_FALSE(std::isnan(equivalence_p({.mean = 0, .se = .02}, 10, .05)));
}

// scipy.stats.t.ppf(.975, 9) + t.ppf(.8, 9).
TEST(Equivalence, MinimalDetectableEffect) {
  EXPECT_NEAR(minimal_detectable_effect({.mean = 3, .se = .5}, 10),
              (2.262157162798205 + 0.8834038596855346) * .5, 1e-12);
}

}  // namespace
}  // namespace attnscope
