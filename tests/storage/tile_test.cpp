#include <gtest/gtest.h>

#include <vector>

#include "attnscope/storage/schema.h"

namespace attnscope {
namespace {

// How often each cell [h q k] lies in a tile.
std::vector<int> covered(const MapSpec& spec, const TileGrid& grid) {
  std::vector<int> cells(static_cast<std::size_t>(spec.heads * spec.queries * spec.keys));
  for (const Tile& t : grid.tiles()) {
    for (std::int64_t h = t.head; h < t.head + t.heads; ++h) {
      for (std::int64_t q = t.query; q < t.query + t.queries; ++q) {
        for (std::int64_t k = t.key; k < t.key + t.keys; ++k) {
          ++cells.at(static_cast<std::size_t>((h * spec.queries + q) * spec.keys + k));
        }
      }
    }
  }
  return cells;
}

bool visible(const MapSpec& spec, std::int64_t q, std::int64_t k) {
  const auto& s = spec.subset;
  const std::int64_t i = s.q_positions.empty() ? q : s.q_positions[static_cast<std::size_t>(q)];
  const std::int64_t j = s.k_positions.empty() ? k : s.k_positions[static_cast<std::size_t>(k)];
  if (!spec.causal) return true;
  return j <= i && (spec.window == 0 || j > i - spec.window);
}

void expect_covers(const MapSpec& spec, std::size_t tiles) {
  const TileGrid grid(spec);
  EXPECT_EQ(grid.tiles().size(), tiles);
  const std::vector<int> cells = covered(spec, grid);
  for (std::int64_t q = 0; q < spec.queries; ++q) {
    for (std::int64_t k = 0; k < spec.keys; ++k) {
      const int times = cells[static_cast<std::size_t>(q * spec.keys + k)];
      ASSERT_TRUE(times == 1 || (times == 0 && !visible(spec, q, k))) << q << " " << k;
    }
  }
  // No tile is there without a visible cell.
  for (const Tile& t : grid.tiles()) {
    bool any = false;
    for (std::int64_t q = t.query; q < t.query + t.queries; ++q) {
      for (std::int64_t k = t.key; k < t.key + t.keys; ++k) any |= visible(spec, q, k);
    }
    EXPECT_TRUE(any) << t.query << " " << t.key;
  }
}

TEST(TileGrid, SmallMapsAreOneTileOfAllHeads) {
  const MapSpec spec{.heads = 5, .queries = 128, .keys = 128, .causal = true};
  expect_covers(spec, 1);
  EXPECT_EQ(TileGrid(spec).tile_heads(), 5);
  const MapSpec larger{.heads = 5, .queries = 129, .keys = 129, .causal = true};
  expect_covers(larger, 5);
  EXPECT_EQ(TileGrid(larger).tile_queries(), 129);
}

TEST(TileGrid, CausalTilesAboveTheDiagonalAreSkipped) {
  expect_covers({.heads = 1, .queries = 600, .keys = 600, .causal = true}, 6);
  expect_covers({.heads = 2, .queries = 600, .keys = 600, .causal = false}, 18);
}

TEST(TileGrid, TilesOutsideTheWindowAreSkipped) {
  // Window 100: tile row 2 (queries 512…) sees keys from 413 on, so tile column 0 is masked.
  expect_covers({.heads = 1, .queries = 600, .keys = 600, .causal = true, .window = 100}, 5);
}

TEST(TileGrid, SubsetsGoByTheirPositions) {
  MapSpec spec{.heads = 1, .queries = 2, .keys = 600, .causal = true};
  spec.subset.q_positions = {10, 300};
  expect_covers(spec, 2);
  spec.subset.q_positions = {10, 20};
  expect_covers(spec, 1);
}

TEST(TileGrid, RowsOfTilesAreTheWholeInOrder) {
  const TileGrid grid({.heads = 2, .queries = 600, .keys = 600, .causal = true});
  std::size_t count = 0;
  for (std::int64_t q = 0; q < 600; q += grid.tile_queries()) count += grid.tiles_of_rows(q).size();
  EXPECT_EQ(count, grid.tiles().size());
}

// A level is masked where no cell of a square is seen, and nowhere else.
TEST(PyramidMap, SeesASquareWhereACellOfItIsSeen) {
  for (const std::int64_t window : {0, 1, 4, 5, 130, 700}) {
    const MapSpec map{.heads = 1, .queries = 1100, .keys = 1100, .causal = true, .window = window};
    ASSERT_EQ(pyramid_factors(map), (std::vector<std::int64_t>{4, 16}));
    for (const std::int64_t factor : {4, 16}) {
      const MapSpec level = pyramid_map(map, factor);
      ASSERT_EQ(level.queries, (1100 + factor - 1) / factor);
      std::vector<bool> seen(static_cast<std::size_t>(level.queries * level.keys));
      for (std::int64_t q = 0; q < map.queries; ++q) {
        for (std::int64_t k = 0; k < map.keys; ++k) {
          const auto square = static_cast<std::size_t>(q / factor * level.keys + k / factor);
          if (visible(map, q, k)) seen[square] = true;
        }
      }
      for (std::int64_t a = 0; a < level.queries; ++a) {
        for (std::int64_t b = 0; b < level.keys; ++b) {
          ASSERT_EQ(visible(level, a, b), seen[static_cast<std::size_t>(a * level.keys + b)])
              << window << " " << factor << " " << a << "," << b;
        }
      }
    }
  }
}

TEST(PyramidMap, OnlyWholeLongPatternsHaveLevels) {
  const MapSpec whole{.heads = 1, .queries = 1025, .keys = 1025};
  EXPECT_EQ(pyramid_factors(whole).size(), 2U);
  MapSpec scores = whole;
  scores.kind = MapKind::scores;
  EXPECT_TRUE(pyramid_factors(scores).empty());
  MapSpec rows = whole;
  rows.subset.q_positions = {1, 3};
  EXPECT_TRUE(pyramid_factors(rows).empty());
}

}  // namespace
}  // namespace attnscope
