#include "pyramid.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace attnscope {
namespace {

TEST(Pyramid, StartsAbove1024TokensAndEndsAt256Cells) {
  EXPECT_FALSE(has_pyramid(1024));
  EXPECT_TRUE(pyramid_factors(1024).empty());
  EXPECT_EQ(pyramid_factors(1025), (std::vector<std::int64_t>{4, 16}));
  EXPECT_EQ(pyramid_factors(2048), (std::vector<std::int64_t>{4, 16}));
  EXPECT_EQ(pyramid_factors(4096), (std::vector<std::int64_t>{4, 16}));
  EXPECT_EQ(pyramid_factors(4097), (std::vector<std::int64_t>{4, 16, 64}));
}

// Against a loop over the cells of the whole map.
TEST(Pyramid, EqualsBruteForceWithRaggedEdges) {
  constexpr std::int64_t kTokens = 1030;  // 1030 = 4·257 + 2 = 16·64 + 6
  at::manual_seed(3);
  const at::Tensor map = at::rand({2, kTokens, kTokens}).tril();
  PyramidBuilder builder(2, kTokens);
  for (std::int64_t q = 0; q < kTokens; q += 128) {
    builder.add(map.narrow(1, q, std::min<std::int64_t>(128, kTokens - q)), q);
  }
  const auto parts = builder.finish();
  ASSERT_EQ(parts.size(), 4u);
  const auto cell = map.accessor<float, 3>();
  for (const PyramidPart& part : parts) {
    const std::int64_t f = part.factor;
    const std::int64_t side = (kTokens + f - 1) / f;
    ASSERT_EQ(part.values.sizes(), (std::vector<std::int64_t>{2, side, side}));
    const auto value = part.values.accessor<float, 3>();
    for (std::int64_t h = 0; h < 2; ++h) {
      for (const std::int64_t a : {std::int64_t{0}, side / 2, side - 1}) {
        for (std::int64_t b = 0; b < side; ++b) {
          double sum = 0;
          double largest = 0;
          std::int64_t count = 0;
          for (std::int64_t q = a * f; q < std::min(kTokens, (a + 1) * f); ++q) {
            for (std::int64_t k = b * f; k < std::min(kTokens, (b + 1) * f); ++k, ++count) {
              sum += cell[h][q][k];
              largest = std::max(largest, static_cast<double>(cell[h][q][k]));
            }
          }
          const double expected = part.pooling == Pooling::max ? largest : sum / count;
          ASSERT_NEAR(value[h][a][b], expected, 1e-6) << "factor " << f << " at " << a << "," << b;
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
