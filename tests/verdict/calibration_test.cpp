// A short calibration: bounds are four standard deviations around what must be.
#include "calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/stats/distributions.h"

namespace attnscope {
namespace {

double four_deviations(double share, const Repeats& repeats) {
  return 4 * std::sqrt(share * (1 - share) / repeats.count);
}

TEST(VerdictCalibration, NullIsRejectedAtItsLevel) {
  const Repeats repeats = {.count = 150, .draws = 399, .seed = 5};
  const NullRates rates = null_rates(repeats);
  const double slack = four_deviations(.05, repeats);
  EXPECT_NEAR(rates.raw, .05, slack);
  EXPECT_LE(rates.adjusted, .05 + slack);
  EXPECT_LE(rates.simultaneous, .05 + slack);
}

TEST(VerdictCalibration, RawPowerFollowsTheNormalFormula) {
  const Repeats repeats = {.count = 200, .draws = 399, .seed = 5};
  for (const double z : {2.0, 2.8}) {
    const double formula = normal_cdf(z - 1.959964) + normal_cdf(-z - 1.959964);
    EXPECT_NEAR(raw_power(z, repeats), formula, four_deviations(formula, repeats));
  }
}

// power.py: shares of 2000 repeats.
TEST(VerdictCalibration, VerdictsAreAsFrequentAsInAnIndependentSimulation) {
  const Repeats repeats = {.count = 60, .draws = 599, .seed = 5};
  EXPECT_NEAR(verdict_rates(.55, repeats).causal, .664, four_deviations(.5, repeats));
  EXPECT_NEAR(verdict_rates(.25, repeats).no_effect, .499, four_deviations(.5, repeats));
}

TEST(VerdictCalibration, StudentisedIntervalsCover) {
  const Repeats repeats = {.count = 300, .draws = 599, .seed = 5};
  for (const Shape shape : {Shape::normal, Shape::exponential}) {
    EXPECT_NEAR(coverage(shape, repeats), .95, four_deviations(.95, repeats));
  }
}

// few_groups.py: shares of 2000 repeats; no interval leaves the values of the clusters.
TEST(VerdictCalibration, IntervalsOfFewSkewedClusters) {
  const Repeats repeats = {.count = 300, .draws = 599, .seed = 5};
  const double slack = four_deviations(.9, repeats);
  EXPECT_NEAR(skewed_rates(SkewedWorld::exponential, 12, repeats).covered, .944, slack);
  EXPECT_NEAR(skewed_rates(SkewedWorld::half_zero, 12, repeats).covered, .943, slack);
  const SkewedRates few = skewed_rates(SkewedWorld::one_in_six, 12, repeats);
  EXPECT_NEAR(few.covered, .891, slack);
  EXPECT_NEAR(few.marked, .750, four_deviations(.75, repeats));
  EXPECT_EQ(few.beyond, 0);
  EXPECT_NEAR(skewed_rates(SkewedWorld::one_in_six, 40, repeats).covered, .981, slack);
}

}  // namespace
}  // namespace attnscope
