#include "gelu_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

namespace attnscope::testing {
namespace {

long double exact(float value) {
  const long double x = value;
  const long double u =
      std::sqrt(2 / std::numbers::pi_v<long double>) * (x + 0.044715L * x * x * x);
  // ½ (1 + tanh u) without its cancellation for u ≪ 0.
  return x / (1 + std::exp(-2 * u));
}

float gelu_of(float x) {
  float y = 0;
  gelu_tanh_loop(&x, &y, 1);
  return y;
}

TEST(GeluLoop, MatchesTheDefinitionInLongDouble) {
  std::vector<float> x;
  for (int i = -40000; i <= 40000; ++i) x.push_back(static_cast<float>(i) / 2000);
  std::vector<float> y(x.size());
  gelu_tanh_loop(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto right = static_cast<double>(exact(x[i]));
    // Half of the last place of x, as the result of a tanh has it.
    EXPECT_NEAR(y[i], right, 1.5e-7 * std::abs(right) + 3e-8 * std::abs(x[i])) << x[i];
  }
}

// Values from Hugging Face's gelu_new in float64.
TEST(GeluLoop, KnownValues) {
  EXPECT_EQ(gelu_of(0), 0);
  EXPECT_NEAR(gelu_of(1), 0.8411919906082768, 1e-7);
  EXPECT_NEAR(gelu_of(-1), -0.15880800939172324, 3e-8);
  EXPECT_NEAR(gelu_of(3), 2.996362607918227, 3e-7);
  EXPECT_NEAR(gelu_of(-3), -0.0036373920817729943, 1e-8);
}

TEST(GeluLoop, FarValuesAreTheirLimits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float far : {20.f, 1e10f, 3e38f}) {
    EXPECT_EQ(gelu_of(far), far);
    EXPECT_EQ(gelu_of(-far), 0) << far;
  }
  EXPECT_EQ(gelu_of(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(gelu_of(std::numeric_limits<float>::quiet_NaN())));
}

// Rows of a batch that are equal must stay so wherever they lie.
TEST(GeluLoop, BitsDoNotDependOnThePlace) {
  std::vector<float> x;
  for (int i = 0; i < 150; ++i) x.push_back(static_cast<float>(4 * std::sin(i * 0.7)));
  for (std::size_t offset = 0; offset < 20; ++offset) {
    for (const std::size_t count : {1, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100}) {
      std::vector<float> moved(offset + count);
      std::copy_n(x.begin(), count, moved.begin() + static_cast<std::ptrdiff_t>(offset));
      gelu_tanh_loop(moved.data() + offset, moved.data() + offset,
                     static_cast<std::int64_t>(count));
      for (std::size_t i = 0; i < count; ++i) {
        const float alone = gelu_of(x[i]);
        EXPECT_EQ(std::memcmp(&alone, &moved[offset + i], sizeof(float)), 0)
            << offset << " " << count << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
