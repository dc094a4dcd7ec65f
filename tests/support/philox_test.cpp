#include "attnscope/support/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attnscope {
namespace {

// Known-answer vectors of the Random123 distribution (kat_vectors, philox4x32-10).
TEST(Philox, PublishedVectors) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, BelowIsUniform) {
  Philox random(7, 3);
  std::vector<int> counts(10);
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(10)];
  // χ² with 9 degrees of freedom: 27.9 is the 99.9 % point.
  double chi2 = 0;
  for (const int c : counts) chi2 += std::pow(c - kDraws / 10.0, 2) / (kDraws / 10.0);
  EXPECT_LT(chi2, 27.9);
}

TEST(Philox, UniformHasMeanOneHalf) {
  Philox random(1, 2);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 4 * 0.2887 / std::sqrt(100000.0));
}

}  // namespace
}  // namespace attnscope
