// Frequencies against the published check values, and what a rotation must keep.
#include "rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "recorder.h"

namespace attnscope::testing {
namespace {

RopeSpec spec_of(int dims, double theta) {
  RopeSpec spec;
  spec.rotary_dims = dims;
  spec.theta = theta;
  return spec;
}

TEST(Rope, PlainFrequencies) {
  const auto frequencies = rope_frequencies(spec_of(4, 10000), 10);
  ASSERT_EQ(frequencies.size(), 2u);
  EXPECT_DOUBLE_EQ(frequencies[0], 1);
  EXPECT_DOUBLE_EQ(frequencies[1], 0.01);
}

TEST(Rope, LinearDividesAll) {
  RopeSpec spec = spec_of(4, 10000);
  spec.scaling = RopeScaling::linear;
  spec.factor = 4;
  EXPECT_DOUBLE_EQ(rope_frequencies(spec, 10)[1], 0.0025);
}

// NTK: at 8 times the context the lowest frequency is divided by exactly 8 and the highest kept;
// the base becomes 82684.6.
TEST(Rope, DynamicStretchesTheBase) {
  RopeSpec spec = spec_of(128, 10000);
  spec.scaling = RopeScaling::dynamic;
  spec.factor = 1;
  spec.original_context = 100;
  const auto plain = rope_frequencies(spec, 100);
  const auto stretched = rope_frequencies(spec, 800);
  EXPECT_DOUBLE_EQ(plain[1], std::pow(10000.0, -2.0 / 128));
  EXPECT_DOUBLE_EQ(stretched[0], 1);
  EXPECT_NEAR(plain[63] / stretched[63], 8, 1e-9);
  EXPECT_NEAR(std::pow(stretched[1], -128.0 / 2), 82684.6, 0.05);
}

// d = 128, base 1e4: L = 4096, s = 16 → pairs 20 to 46, m = 1.277259; L = 2048, s = 8 → 16 to 41,
// m = 1.207944.
TEST(Rope, YarnRampsBetweenThePublishedPairs) {
  struct Case {
    double context, factor;
    std::size_t low, high;
    double magnitude;
  };
  for (const Case& c : {Case{4096, 16, 20, 46, 1.277259}, Case{2048, 8, 16, 41, 1.207944}}) {
    RopeSpec spec = spec_of(128, 10000);
    spec.scaling = RopeScaling::yarn;
    spec.factor = c.factor;
    spec.original_context = c.context;
    const auto plain = rope_frequencies(spec_of(128, 10000), 1);
    const auto scaled = rope_frequencies(spec, 1);
    EXPECT_DOUBLE_EQ(scaled[c.low], plain[c.low]);
    EXPECT_LT(scaled[c.low + 1], plain[c.low + 1]);
    EXPECT_DOUBLE_EQ(scaled[c.high], plain[c.high] / c.factor);
    EXPECT_GT(scaled[c.high - 1], plain[c.high - 1] / c.factor);
    EXPECT_NEAR(rope_magnitude(spec), c.magnitude, 5e-7);
  }
}

// d = 128, base 5e5, L = 8192: 29 kept, 6 blended, 29 divided by 8.
TEST(Rope, Llama3BlendsSixPairs) {
  RopeSpec spec = spec_of(128, 500000);
  spec.scaling = RopeScaling::llama3;
  spec.factor = 8;
  spec.original_context = 8192;
  const auto plain = rope_frequencies(spec_of(128, 500000), 1);
  const auto scaled = rope_frequencies(spec, 1);
  const std::vector<double> ratios = {.8282, .6437, .4935, .3711, .2714, .1902};
  for (std::size_t k = 0; k < 64; ++k) {
    const double ratio = scaled[k] / plain[k];
    if (k < 29) {
      EXPECT_DOUBLE_EQ(ratio, 1) << k;
    } else if (k >= 35) {
      EXPECT_DOUBLE_EQ(ratio, 1.0 / 8) << k;
    } else {
      EXPECT_NEAR(ratio, ratios[k - 29], 5e-5) << k;
    }
  }
}

TEST(Rope, LongropeDividesByTheTableOfTheLength) {
  RopeSpec spec = spec_of(4, 10000);
  spec.scaling = RopeScaling::longrope;
  spec.factor = 4;
  spec.original_context = 16;
  spec.short_factor = {1, 2};
  spec.long_factor = {5, 10};
  EXPECT_DOUBLE_EQ(rope_frequencies(spec, 16)[1], 0.01 / 2);
  EXPECT_DOUBLE_EQ(rope_frequencies(spec, 17)[1], 0.01 / 10);
  EXPECT_NEAR(rope_magnitude(spec), std::sqrt(1 + std::log(4.0) / std::log(16.0)), 1e-15);
}

class RotationTest : public ::testing::TestWithParam<RopeLayout> {};

TEST_P(RotationTest, KeepsNormsAndDependsOnDistancesOnly) {
  RopeSpec spec = spec_of(8, 10000);
  spec.layout = GetParam();
  const at::TensorOptions options(at::kDouble);
  const at::Tensor x = at::linspace(-1, 2, 2 * 10, options).view({1, 2, 1, 10});
  const auto scores_at = [&](std::int64_t first, std::int64_t second) {
    const at::Tensor positions =
        at::tensor({first, second}, at::TensorOptions(at::kLong)).view({1, 2});
    const at::Tensor rotated = rotate(x, rope_table(spec, positions, options), spec);
    EXPECT_LT(largest_difference(rotated.norm(2, {-1}), x.norm(2, {-1})), 1e-14);
    EXPECT_TRUE(at::equal(rotated.narrow(-1, 8, 2), x.narrow(-1, 8, 2)));
    return (rotated[0][0] * rotated[0][1]).sum().item<double>();
  };
  EXPECT_NEAR(scores_at(3, 7), scores_at(103, 107), 1e-12);
  EXPECT_GT(std::abs(scores_at(3, 7) - scores_at(3, 8)), 1e-3);
  const at::Tensor zeros = at::zeros({1, 2}, at::TensorOptions(at::kLong));
  EXPECT_TRUE(at::equal(rotate(x, rope_table(spec, zeros, options), spec), x));
}
INSTANTIATE_TEST_SUITE_P(Layouts, RotationTest,
                         ::testing::Values(RopeLayout::half, RopeLayout::interleaved));

// Both layouts give the same scores when the dims are permuted: half[k] = interleaved[2k],
// half[k + r/2] = interleaved[2k + 1].
TEST(Rope, LayoutsArePermutationsOfEachOther) {
  const at::TensorOptions options(at::kDouble);
  RopeSpec half = spec_of(8, 10000);
  RopeSpec interleaved = half;
  interleaved.layout = RopeLayout::interleaved;
  const at::Tensor positions = at::tensor({5, 11, 2}, at::TensorOptions(at::kLong)).view({1, 3});
  const at::Tensor x = at::linspace(-1, 2, 3 * 8, options).view({1, 3, 1, 8});
  const at::Tensor order = at::tensor({0, 2, 4, 6, 1, 3, 5, 7}, at::TensorOptions(at::kLong));
  const RopeTable table = rope_table(half, positions, options);
  EXPECT_LT(largest_difference(rotate(x, table, interleaved).index_select(-1, order),
                               rotate(x.index_select(-1, order), table, half)),
            1e-15);
}

// (1, 0) turned by the angle position·θ is (cos, sin).
TEST(Rope, TurnsByPositionTimesFrequency) {
  const at::TensorOptions options(at::kDouble);
  const RopeSpec spec = spec_of(2, 10000);
  const at::Tensor x = at::tensor({1.0, 0.0}, options).view({1, 1, 1, 2});
  const at::Tensor position = at::full({1, 1}, 3, at::TensorOptions(at::kLong));
  const at::Tensor turned = rotate(x, rope_table(spec, position, options), spec).flatten();
  EXPECT_DOUBLE_EQ(turned[0].item<double>(), std::cos(3.0));
  EXPECT_DOUBLE_EQ(turned[1].item<double>(), std::sin(3.0));
}

}  // namespace
}  // namespace attnscope::testing
