#include "attnscope/render/heat_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attnscope/support/error.h"
#include "maps.h"

namespace attnscope {
namespace {

using testing::causal_map;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(HeatMap, HidesKeysAfterTheQueryByPosition) {
  HeatMap map = causal_map(4);
  EXPECT_FALSE(map.is_hidden(2, 2));
  EXPECT_TRUE(map.is_hidden(2, 3));
  map.row_positions = {0, 1, 2, 9};
  map.column_positions = {0, 1, 5, 9};
  EXPECT_TRUE(map.is_hidden(2, 2));
  EXPECT_FALSE(map.is_hidden(3, 2));
}

TEST(HeatMap, ScaleLeavesHiddenCellsOut) {
  HeatMap map = causal_map(2);
  map.values = {0.25F, 100, 0.5F, 0.5F};
  EXPECT_EQ(map.drawn_scale().high, 0.5);
}

TEST(HeatMap, RefusesPartsThatDoNotFit) {
  HeatMap map = causal_map(3);
  map.row_labels.pop_back();
  try {
    check_heat_map(map);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "RN01");
    EXPECT_EQ(error.kind(), ErrorKind::internal);
  }
}

// Against the definition, written the other way round: every drawn value is at most its block's.
TEST(MaxPool, KeepsEveryPeak) {
  HeatMap map = causal_map(11);
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    map.values[i] = static_cast<float>((i * 37 + 11) % 101);
  }
  const PooledMap pooled = max_pool(map, 4, 6);
  ASSERT_EQ(pooled.row_block, 3);
  ASSERT_EQ(pooled.column_block, 2);
  ASSERT_EQ(pooled.map.rows, 4);
  ASSERT_EQ(pooled.map.columns, 6);
  std::vector<float> expected(24, kNan);
  for (int row = 0; row < 11; ++row) {
    for (int column = 0; column <= row; ++column) {
      float& cell = expected[static_cast<std::size_t>(row / 3 * 6 + column / 2)];
      cell = std::isnan(cell) ? map.at(row, column) : std::max(cell, map.at(row, column));
    }
  }
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 6; ++column) {
      const float value = expected[static_cast<std::size_t>(row * 6 + column)];
      EXPECT_EQ(pooled.map.is_hidden(row, column), std::isnan(value)) << row << " " << column;
      if (std::isnan(value)) continue;
      EXPECT_EQ(pooled.map.at(row, column), value);
    }
  }
  EXPECT_EQ(pooled.map.row_labels, (std::vector<std::string>{" w0", " w3", " w6", " w9"}));
}

TEST(MaxPool, LeavesASmallMapAlone) {
  const HeatMap map = causal_map(5);
  const PooledMap pooled = max_pool(map, 5, 9);
  EXPECT_EQ(pooled.row_block, 1);
  EXPECT_EQ(pooled.map.values, map.values);
}

HeadGrid small_grid() {
  return {.statistic = "induction",
          .layers = {0, 3},
          .heads = 3,
          .values = {0.5F, kNan, 0.9F, 0.9F, -1, 0.1F}};
}

TEST(TopHeads, SortsByValueThenNameWithoutMissing) {
  const auto top = top_heads(small_grid(), 10, Order::largest_first);
  ASSERT_EQ(top.size(), 5U);
  EXPECT_EQ(head_name(top[0].head), "0.2");
  EXPECT_EQ(head_name(top[1].head), "3.0");
  EXPECT_EQ(head_name(top[2].head), "0.0");
  EXPECT_EQ(head_name(top_heads(small_grid(), 1, Order::smallest_first).front().head), "3.1");
}

TEST(HeadGrid, BecomesATableOfLayers) {
  const HeatMap map = heat_map_of(small_grid());
  EXPECT_EQ(map.row_labels, (std::vector<std::string>{"0", "3"}));
  EXPECT_EQ(map.columns, 3);
  EXPECT_EQ(map.at(1, 2), 0.1F);
}

}  // namespace
}  // namespace attnscope
