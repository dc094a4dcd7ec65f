#include "attnscope/stats/distributions.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace attnscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_relative(double got, double want, double tolerance) {
  EXPECT_NEAR(got, want, tolerance * std::max(std::fabs(want), 1e-300)) << want;
}

// scipy.stats.norm.ppf, scipy 1.17.1.
TEST(Distributions, NormalQuantileAgreesWithScipy) {
  const std::vector<std::array<double, 2>> table = {
      {1e-300, -37.0470962993612}, {1e-12, -7.034483825301131},  {.001, -3.090232306167813},
      {.025, -1.9599639845400545}, {.3, -0.5244005127080409},    {.8, 0.8416212335729143},
      {.975, 1.959963984540054},   {.999999, 4.753424308817087},
  };
  for (const auto& [p, z] : table) expect_relative(normal_quantile(p), z, 1e-13);
  EXPECT_EQ(normal_quantile(.5), 0);
  EXPECT_EQ(normal_quantile(0), -kInfinity);
  EXPECT_EQ(normal_quantile(1), kInfinity);
  EXPECT_TRUE(std::isnan(normal_quantile(1.5)));
}

TEST(Distributions, NormalQuantileInvertsTheCdf) {
  for (double z = -8; z <= 5; z += 0.37) EXPECT_NEAR(normal_quantile(normal_cdf(z)), z, 1e-9);
}

// scipy.stats.t.cdf, scipy 1.17.1.
TEST(Distributions, StudentCdfAgreesWithScipy) {
  const std::vector<std::array<double, 3>> table = {
      {1, 1, .75},
      {2, 3, 0.9303370157205785},
      {-2.5, 9, 0.016930913841492867},
      {.3, 99, 0.6175969191298714},
      {6, 19, 0.9999955103822638},
      {-40, 4, 1.1670081613006339e-06},
  };
  for (const auto& [t, df, p] : table) expect_relative(student_t_cdf(t, df), p, 1e-12);
  EXPECT_EQ(student_t_cdf(0, 7), .5);
  EXPECT_EQ(student_t_cdf(kInfinity, 7), 1);
  EXPECT_EQ(student_t_cdf(1.3, kInfinity), normal_cdf(1.3));
}

// scipy.stats.t.ppf, scipy 1.17.1.
TEST(Distributions, StudentQuantileAgreesWithScipy) {
  const std::vector<std::array<double, 3>> table = {
      {.975, 9, 2.262157162798205},   {.975, 99, 1.9842169515864174}, {.95, 19, 1.7291328115213682},
      {.8, 9, 0.8834038596855346},    {.0005, 4, -8.610301581379275}, {.6, 2, 0.2886751345948128},
      {.999, 199, 3.131689620726459},
  };
  for (const auto& [p, df, t] : table) expect_relative(student_t_quantile(p, df), t, 1e-11);
  EXPECT_EQ(student_t_quantile(.5, 3), 0);
  // One degree of freedom is the Cauchy distribution.
  expect_relative(student_t_quantile(.99, 1), std::tan(M_PI * .49), 1e-11);
}

TEST(Distributions, StudentQuantileInvertsTheCdf) {
  for (const double df : {1.0, 2.0, 9.0, 50.0, 4999.0}) {
    for (double p = 1e-8; p < 1; p = p < .1 ? p * 10 : p + .09) {
      EXPECT_NEAR(student_t_cdf(student_t_quantile(p, df), df) / p, 1, 1e-10) << df << " " << p;
    }
  }
}

// numpy.quantile (linear) of the same values.
TEST(Distributions, SortedQuantileInterpolates) {
  const std::vector<double> values = {1, 2, 4, 8};
  EXPECT_EQ(sorted_quantile(values, 0), 1);
  EXPECT_EQ(sorted_quantile(values, 1), 8);
  EXPECT_EQ(sorted_quantile(values, .5), 3);
  EXPECT_NEAR(sorted_quantile(values, .9), 6.8, 1e-12);
  EXPECT_TRUE(std::isnan(sorted_quantile({}, .5)));
  const std::vector<double> infinite = {-kInfinity, -kInfinity, 0, 1};
  EXPECT_EQ(sorted_quantile(infinite, .1), -kInfinity);
}

}  // namespace
}  // namespace attnscope
