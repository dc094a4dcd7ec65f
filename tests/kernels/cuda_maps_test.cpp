// The maps that the CUDA statistics pass writes: values, rounding and the order of tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "cuda_cases.h"

namespace attnscope::testing {
namespace {

constexpr int kSide = 256;

// Stored tiles of the chosen heads by search: head, query tile, key tile, those of which some query
// sees a key; what lies beyond the map is 0.
std::vector<double> dense_tiles(const Map& map, const std::vector<int>& heads) {
  const int height = std::min(kSide, map.shape.n_queries);
  const int width = std::min(kSide, map.shape.n_keys);
  std::vector<double> tiles;
  for (const int head : heads) {
    for (int q = 0; q < map.shape.n_queries; q += height) {
      for (int k = 0; k < map.shape.n_keys; k += width) {
        std::vector<double> tile;
        bool seen = false;
        for (int i = q; i < q + height; ++i) {
          for (int j = k; j < k + width; ++j) {
            const bool inside = i < map.shape.n_queries && j < map.shape.n_keys;
            seen = seen || (inside && map.visible(i, j));
            tile.push_back(inside ? map.alpha(head, i, j) : 0);
          }
        }
        if (seen) tiles.insert(tiles.end(), tile.begin(), tile.end());
      }
    }
  }
  return tiles;
}

std::vector<float> as_floats(const std::vector<std::uint32_t>& words) {
  std::vector<float> values;
  for (const std::uint32_t word : words) values.push_back(std::bit_cast<float>(word));
  return values;
}

// `value` to nearest even on steps of 2^-`bits` of its power of two.
float rounded(float value, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(static_cast<double>(value), &exponent);
  return static_cast<float>(
      std::ldexp(std::nearbyint(std::ldexp(mantissa, bits + 1)), exponent - bits - 1));
}

float nearest_half(float value) {
  return value >= 0x1p-14F ? rounded(value, 10)
                           : static_cast<float>(std::nearbyint(std::ldexp(value, 24)) * 0x1p-24);
}

// Runs queries begin … end − 1 into the arrays of `all`; gives the tiles of the part.
CudaResult run_part(const CudaLayer& layer, int begin, int end, const std::vector<int>& heads,
                    CudaResult& all) {
  CudaStatisticsInput input = layer.input();
  input.q_begin = begin;
  input.q_end = end;
  std::vector<std::int32_t> slots(static_cast<std::size_t>(input.spec->n_heads), -1);
  CudaMaps maps;
  maps.value = CudaMapValue::f32;
  for (const int head : heads) slots[static_cast<std::size_t>(head)] = maps.n_maps++;
  CudaResult part(plan_cuda_statistics(input, maps, {227 * 1024, std::int64_t{1} << 40}));
  maps.slot = slots.data();
  maps.tiles = part.tiles.data();
  const CudaStatisticsOutput output = {all.rows.data(), all.topk_value.data(),
                                       all.topk_index.data(), all.key_sum.data(),
                                       all.overview.data()};
  emulate(cuda::make_params(input, maps, output), input.value, {});
  return part;
}

void expect_dense_tiles(const CudaCase& options, const std::vector<int>& heads) {
  SCOPED_TRACE(name_of(options));
  const CudaLayer layer(options);
  const CudaResult result = run_pass(layer, {}, {.heads = heads});
  const std::vector<float> got = as_floats(result.tiles);
  const std::vector<double> expected = dense_tiles(layer.map(), heads);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), expected[i], 4e-6) << "value " << i;
    ASSERT_EQ(got[i] == 0, expected[i] == 0) << "value " << i;
  }
}

TEST(CudaMaps, EqualDenseTilesInTheOrderOfTheChunks) {
  expect_dense_tiles({.name = "one tile", .n_queries = 70, .n_keys = 70}, {1, 0});
  expect_dense_tiles({.name = "four", .n_queries = 300, .n_keys = 300, .causal = false}, {1});
  expect_dense_tiles({.name = "causal", .n_queries = 300, .n_keys = 300}, {0});
  expect_dense_tiles({.name = "window", .n_queries = 520, .n_keys = 520, .window = 100}, {1});
  expect_dense_tiles(
      {.name = "cross", .n_queries = 30, .n_keys = 300, .causal = false, .cross = true}, {0, 1});
  expect_dense_tiles({.name = "hidden row", .n_queries = 70, .n_keys = 70, .masked_rows = {5}},
                     {0});
}

TEST(CudaMaps, RoundAsTheFileDoes) {
  const CudaLayer layer({.name = "peaked",
                         .d_head = 64,
                         .n_queries = 70,
                         .n_keys = 70,
                         .bias = Bias::alibi,
                         .numbers = Numbers::real});
  const std::vector<float> exact = as_floats(run_pass(layer, {}, {.heads = {0}}).tiles);
  const CudaResult r10 = run_pass(layer, {}, {.heads = {0}, .value = CudaMapValue::r10});
  const CudaResult f16 = run_pass(layer, {}, {.heads = {0}, .value = CudaMapValue::f16});
  const float floor = 1e-3F;
  const CudaResult cut =
      run_pass(layer, {}, {.heads = {0}, .value = CudaMapValue::f32, .floor = floor});
  const std::vector<float> r10_values = as_floats(r10.tiles), cut_values = as_floats(cut.tiles);
  ASSERT_EQ(r10.tiles.size(), exact.size());
  ASSERT_EQ(f16.plan.bytes.tiles * 2, r10.plan.bytes.tiles);
  int below = 0, subnormal = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const std::uint32_t word = f16.tiles[i / 2];
    const auto half = static_cast<std::uint16_t>(i % 2 == 0 ? word : word >> 16U);
    ASSERT_EQ(r10_values[i], rounded(exact[i], 10)) << "value " << i;
    ASSERT_EQ(half_value(half), nearest_half(exact[i])) << "value " << i;
    ASSERT_EQ(cut_values[i], exact[i] < floor ? 0 : exact[i]) << "value " << i;
    below += exact[i] > 0 && exact[i] < floor ? 1 : 0;
    subnormal += exact[i] > 0 && exact[i] < 0x1p-14F ? 1 : 0;
  }
  EXPECT_GT(below, 10);
  EXPECT_GT(subnormal, 10);
}

TEST(CudaMaps, ChangeNothingElse) {
  const CudaLayer layer({.name = "causal", .n_queries = 130, .n_keys = 130});
  CudaResult with = run_pass(layer, {}, {.heads = {1}});
  with.tiles.clear();
  EXPECT_EQ(with, run_pass(layer));
}

// A layer in parts of 256 queries fills the same arrays, and each part's tiles are those of its
// rows.
TEST(CudaMaps, PartsOfTheQueriesGiveTheSameBits) {
  for (const int window : {0, 100}) {
    const CudaLayer layer({.name = "parts",
                           .n_heads = 2,
                           .n_queries = 600,
                           .n_keys = 600,
                           .window = window,
                           .numbers = Numbers::real});
    const std::vector<int> heads = {1, 0};
    const CudaResult whole = run_pass(layer, {}, {.heads = heads});
    CudaResult parts(whole.plan);
    std::vector<std::vector<std::uint32_t>> maps(heads.size());
    for (int begin = 0; begin < 600; begin += kSide) {
      const CudaResult part = run_part(layer, begin, std::min(begin + kSide, 600), heads, parts);
      const std::size_t size = part.tiles.size() / heads.size();
      for (std::size_t m = 0; m < heads.size(); ++m) {
        const auto first = part.tiles.begin() + static_cast<std::ptrdiff_t>(m * size);
        maps[m].insert(maps[m].end(), first, first + static_cast<std::ptrdiff_t>(size));
      }
    }
    parts.tiles = maps[0];
    parts.tiles.insert(parts.tiles.end(), maps[1].begin(), maps[1].end());
    EXPECT_EQ(parts, whole) << "window " << window;
  }
}

}  // namespace
}  // namespace attnscope::testing
