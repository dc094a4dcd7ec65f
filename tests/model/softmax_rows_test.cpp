#include "softmax_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace attnscope::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
std::vector<T> scores(int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i)
    values.push_back(static_cast<T>(8 * std::sin(i * 1.7) + 0.01 * i));
  return values;
}

template <typename T>
class SoftmaxRowTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SoftmaxRowTest, Types);

TYPED_TEST(SoftmaxRowTest, MatchesTheDefinitionInLongDouble) {
  const double tolerance = sizeof(TypeParam) == 4 ? 2e-6 : 4e-15;
  for (const int count : {1, 2, 15, 16, 17, 255, 256, 257, 1000}) {
    std::vector<TypeParam> values = scores<TypeParam>(count);
    long double sum = 0;
    for (const TypeParam s : values) sum += std::exp(static_cast<long double>(s));
    const std::vector<TypeParam> before = values;
    const auto sums =
        softmax_row(SoftmaxRow<TypeParam>{.values = values.data(), .begin = 0, .end = count});
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const long double exact = std::exp(static_cast<long double>(before[at])) / sum;
      EXPECT_NEAR(values[at], exact, tolerance * static_cast<double>(exact) + 1e-37) << count;
    }
    EXPECT_NEAR(sums.lse, std::log(sum), 4 * tolerance);
  }
}

TYPED_TEST(SoftmaxRowTest, MaskedKeysHaveWeightExactlyZero) {
  std::vector<TypeParam> values = {1, static_cast<TypeParam>(-kInfinity), 2};
  softmax_row(SoftmaxRow<TypeParam>{.values = values.data(), .begin = 0, .end = 3});
  EXPECT_EQ(values[1], 0);
  EXPECT_NEAR(values[0], 1 / (1 + std::exp(1.0)), 1e-7);
}

TYPED_TEST(SoftmaxRowTest, ARowWithoutVisibleKeysIsZero) {
  std::vector<TypeParam> values(20, static_cast<TypeParam>(-kInfinity));
  const auto sums =
      softmax_row(SoftmaxRow<TypeParam>{.values = values.data(), .begin = 0, .end = 20});
  for (const TypeParam value : values) EXPECT_EQ(value, 0);
  EXPECT_EQ(sums.lse, static_cast<TypeParam>(-kInfinity));
}

// Also where no score can be compared: such a row is not a masked one.
TYPED_TEST(SoftmaxRowTest, ANanStaysVisible) {
  constexpr auto kNan = std::numeric_limits<TypeParam>::quiet_NaN();
  constexpr auto kMasked = -std::numeric_limits<TypeParam>::infinity();
  for (std::vector<TypeParam> values :
       {std::vector<TypeParam>{1, kNan, 2}, {kNan, kNan, kNan}, {kMasked, kNan, kMasked}}) {
    const auto sums =
        softmax_row(SoftmaxRow<TypeParam>{.values = values.data(), .begin = 0, .end = 3});
    EXPECT_TRUE(std::isnan(values[1]));
    EXPECT_TRUE(std::isnan(sums.lse));
  }
}

TYPED_TEST(SoftmaxRowTest, OnlyTheRangeIsTouched) {
  std::vector<TypeParam> values = {9, 0, 0, 9};
  softmax_row(SoftmaxRow<TypeParam>{.values = values.data(), .begin = 1, .end = 3});
  EXPECT_EQ(values, (std::vector<TypeParam>{9, 0.5, 0.5, 9}));
}

// A learned sink of logit ln 2 beside two keys of score 0 takes half of the mass.
TYPED_TEST(SoftmaxRowTest, ALearnedSinkTakesItsShare) {
  std::vector<TypeParam> values = {0, 0};
  const auto sink = static_cast<TypeParam>(std::log(2.0));
  const auto sums = softmax_row(
      SoftmaxRow<TypeParam>{.values = values.data(), .begin = 0, .end = 2, .sink = &sink});
  EXPECT_NEAR(values[0], 0.25, 1e-7);
  EXPECT_NEAR(sums.sink_mass, 0.5, 1e-7);
  EXPECT_NEAR(sums.lse, std::log(4.0), 1e-6);
}

// Where every key is masked the sink has all of the mass, and the keys none.
TYPED_TEST(SoftmaxRowTest, ALearnedSinkTakesAllOfAMaskedRow) {
  const auto masked = static_cast<TypeParam>(-kInfinity);
  for (const double logit : {-30.0, 0.0, 2.0}) {
    for (const double mix : {1.0, 0.2}) {
      std::vector<TypeParam> values(3, masked);
      const auto sink = static_cast<TypeParam>(logit);
      const auto sums = softmax_row(SoftmaxRow<TypeParam>{
          .values = values.data(), .begin = 0, .end = 3, .mix = mix, .sink = &sink});
      EXPECT_EQ(values, std::vector<TypeParam>(3, 0));
      EXPECT_EQ(sums.sink_mass, 1);
      EXPECT_NEAR(sums.lse, logit, 1e-6);
    }
  }
}

// pattern = c·softmax + (1 − c) on the visible keys (Zhong et al. 2023).
TYPED_TEST(SoftmaxRowTest, MixesWithAConstant) {
  std::vector<TypeParam> values = {0, static_cast<TypeParam>(-kInfinity), 0};
  softmax_row(SoftmaxRow<TypeParam>{.values = values.data(), .begin = 0, .end = 3, .mix = 0.2});
  EXPECT_NEAR(values[0], 0.2 * 0.5 + 0.8, 1e-7);
  EXPECT_EQ(values[1], 0);
}

}  // namespace
}  // namespace attnscope::testing
