#include "attnscope/stats/multiplicity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attnscope {
namespace {

// The example of Benjamini and Hochberg 1995.
const std::vector<double> kExample = {.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344,
                                      .0459, .3240, .4262, .5719, .6528, .7590, 1};

long rejected(const std::vector<double>& adjusted) {
  return std::count_if(adjusted.begin(), adjusted.end(), [](double p) { return p <= .05; });
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 6e-9) << i;
}

// Adjusted values: scipy.stats.false_discovery_control, scipy 1.17.1.
TEST(Multiplicity, BenjaminiHochberg1995) {
  const std::vector<double> adjusted = benjamini_hochberg(kExample);
  EXPECT_EQ(rejected(adjusted), 4);
  expect_near(adjusted, {.0015, .003, .0095, .035625, .0603, .06385714285, .06385714285, .0645,
                         .0765, .486, .58118181818, .714875, .75323076923, .81321428571, 1});
}

TEST(Multiplicity, BenjaminiYekutieli) {
  expect_near(benjamini_yekutieli(std::vector<double>{.01, .02, .5}),
              {.01 * 3 * (11.0 / 6), .02 * 1.5 * (11.0 / 6), .5 * (11.0 / 6)});
  const std::vector<double> adjusted = benjamini_yekutieli(kExample);
  EXPECT_NEAR(adjusted[0], 0.00497734, 5e-9);
  EXPECT_NEAR(adjusted[8], 0.25384452, 5e-9);
  EXPECT_EQ(adjusted[10], 1);
}

// By hand: 3 × .01, then 2 × .02, then the larger of .04 and .03; capped at 1.
TEST(Multiplicity, Holm) {
  expect_near(holm(std::vector<double>{.03, .01, .02}), {.04, .03, .04});
  EXPECT_EQ(rejected(holm(kExample)), 3);
  expect_near(holm(std::vector<double>{.6, .7}), {1, 1});
}

TEST(Multiplicity, OrderOfTheInputDoesNotMatter) {
  std::vector<double> backwards(kExample.rbegin(), kExample.rend());
  for (auto* adjust : {&benjamini_hochberg, &benjamini_yekutieli, &holm}) {
    std::vector<double> got = (*adjust)(backwards);
    std::reverse(got.begin(), got.end());
    EXPECT_EQ(got, (*adjust)(kExample));
  }
}

TEST(Multiplicity, MissingTestsAreNotInTheFamily) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> got = holm(std::vector<double>{.02, missing, .01});
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_NEAR(got[0], .02, 1e-15);
  EXPECT_NEAR(got[2], .02, 1e-15);
}

}  // namespace
}  // namespace attnscope
