// The accumulator against the definitions, on random maps of every kind and size.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "brute_force.h"

namespace attnscope::testing {
namespace {

void expect_near(const std::vector<float>& got, const std::vector<double>& expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " " << i << " is " << got[i];
    } else {
      EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
          << what << " " << i;
    }
  }
}

void expect_equal_to_definition(const AttentionStatistics& got, const Map& map, double tolerance) {
  const BruteForce expected = brute_force(map);
  expect_near(got.head_stats, expected.head_stats, tolerance, "head_stats");
  expect_near(got.row_stats, expected.row_stats, tolerance, "row_stats");
  expect_near(got.key_sum, expected.key_sum, tolerance, "key_sum");
  expect_near(got.topk_value, expected.topk_value, tolerance, "topk_value");
  expect_near(got.value_norm, map.norms, tolerance, "value_norm");
  EXPECT_EQ(got.topk_index, expected.topk_index);
  ASSERT_EQ(got.overview.size(), expected.overview.size());
  for (std::size_t i = 0; i < got.overview.size(); ++i) {
    EXPECT_LE(std::abs(got.overview[i] - expected.overview[i]), 0.5 + 1e-4) << "overview " << i;
  }
}

struct Kind {
  std::string name;
  RandomMap options;
};

class EveryKind : public ::testing::TestWithParam<Kind> {};

TEST_P(EveryKind, FloatAndDoubleEqualTheDefinitions) {
  const Map map = random_map(GetParam().options);
  // The results are stored in float, whatever the rows are.
  expect_equal_to_definition(accumulate<double>(map), map, 1.2e-7);
  expect_equal_to_definition(accumulate<float>(map), map, 2e-6);
}

TEST_P(EveryKind, BlocksOfAnySizeGiveTheSameBits) {
  const Map map = random_map(GetParam().options);
  const AttentionStatistics whole = accumulate<float>(map, map.shape.n_queries);
  for (const int block : {1, 3, 64, 128}) {
    const AttentionStatistics parts = accumulate<float>(map, block);
    EXPECT_EQ(parts.topk_index, whole.topk_index);
    EXPECT_EQ(parts.overview, whole.overview);
    EXPECT_EQ(0, std::memcmp(parts.head_stats.data(), whole.head_stats.data(),
                             whole.head_stats.size() * sizeof(float)));
    EXPECT_EQ(0, std::memcmp(parts.row_stats.data(), whole.row_stats.data(),
                             whole.row_stats.size() * sizeof(float)));
    EXPECT_EQ(parts.key_sum, whole.key_sum);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Maps, EveryKind,
    ::testing::Values(
        Kind{"one_token", {.n_queries = 1, .n_keys = 1}},
        Kind{"one_token_bidirectional", {.n_queries = 1, .n_keys = 1, .causal = false}},
        Kind{"two_tokens", {.n_queries = 2, .n_keys = 2}},
        Kind{"causal", {.n_queries = 23, .n_keys = 23, .seed = 3}},
        Kind{"bidirectional", {.n_queries = 23, .n_keys = 23, .causal = false, .seed = 4}},
        Kind{"window", {.n_queries = 40, .n_keys = 40, .window = 6, .seed = 5}},
        Kind{"window_of_one", {.n_queries = 9, .n_keys = 9, .window = 1, .seed = 6}},
        Kind{"window_longer_than_prompt", {.n_queries = 9, .n_keys = 9, .window = 99}},
        Kind{"cross", {.n_queries = 11, .n_keys = 29, .cross = true, .seed = 7}},
        Kind{"cross_with_few_keys", {.n_queries = 70, .n_keys = 3, .cross = true, .seed = 8}},
        Kind{"learned_sink", {.n_queries = 21, .n_keys = 21, .learned_sink = true, .seed = 9}},
        Kind{"one_id", {.n_queries = 19, .n_keys = 19, .n_ids = 1, .seed = 10}},
        Kind{"no_repeats", {.n_queries = 19, .n_keys = 19, .n_ids = 1 << 30, .seed = 11}},
        Kind{"top_one", {.n_queries = 33, .n_keys = 33, .top_k = 1, .seed = 12}},
        Kind{"overview_exact", {.n_heads = 1, .n_queries = 64, .n_keys = 64, .seed = 13}},
        Kind{"overview_ragged", {.n_heads = 1, .n_queries = 65, .n_keys = 65, .seed = 14}},
        Kind{"overview_two_blocks", {.n_heads = 1, .n_queries = 129, .n_keys = 129, .seed = 15}},
        Kind{"long", {.n_heads = 1, .n_queries = 301, .n_keys = 301, .n_ids = 9, .seed = 16}},
        Kind{"long_bidirectional",
             {.n_heads = 1, .n_queries = 273, .n_keys = 273, .causal = false, .seed = 17}}),
    [](const auto& kind) { return kind.param.name; });

TEST(AttentionStatistics, KeyColumnsThatAreNotGivenCountAsZeros) {
  const Map map = random_map({.n_queries = 37, .n_keys = 37, .seed = 20});
  const AttentionStatistics all = accumulate<float>(map, 8);
  const AttentionStatistics cut = accumulate<float>(map, 8, Columns::cut);
  EXPECT_EQ(cut.key_sum, all.key_sum);
  EXPECT_EQ(cut.overview, all.overview);
  EXPECT_EQ(cut.topk_index, all.topk_index);
  EXPECT_EQ(0, std::memcmp(cut.row_stats.data(), all.row_stats.data(),
                           all.row_stats.size() * sizeof(float)));
  EXPECT_EQ(0, std::memcmp(cut.head_stats.data(), all.head_stats.data(),
                           all.head_stats.size() * sizeof(float)));
}

// An intervention may put mass where the mask allows none: it must be counted.
TEST(AttentionStatistics, MassBeyondTheMaskIsCounted) {
  Map map = random_map({.n_queries = 30, .n_keys = 30, .window = 5, .seed = 21});
  for (int j = 0; j < 30; ++j) map.pattern[static_cast<std::size_t>(12 * 30 + j)] = 1.0 / 30;
  map.pattern[static_cast<std::size_t>(20 * 30 + 1)] = 0.25;
  expect_equal_to_definition(accumulate<double>(map), map, 1.2e-7);
}

// With all mass behind the mask, the other top keys are visible zeros and no hidden ones.
TEST(AttentionStatistics, HiddenZerosAreNoTopKeys) {
  Map map = random_map({.n_heads = 1, .n_queries = 200, .n_keys = 200, .window = 5, .seed = 24});
  for (int j = 0; j < 200; ++j) map.pattern[static_cast<std::size_t>(180 * 200 + j)] = j == 150;
  expect_equal_to_definition(accumulate<float>(map), map, 2e-6);
}

TEST(AttentionStatistics, TiesGoToTheLowerKey) {
  Map map = random_map({.n_heads = 1, .n_queries = 80, .n_keys = 80, .seed = 22});
  for (int i = 0; i < 80; ++i) {
    for (int j = 0; j <= i; ++j) {
      map.pattern[static_cast<std::size_t>(i * 80 + j)] = (j % 3 == 1 ? 2.0 : 1.0) / (2.0 * i + 2);
    }
  }
  const BruteForce expected = brute_force(map);
  EXPECT_EQ(accumulate<float>(map).topk_index, expected.topk_index);
  EXPECT_EQ(accumulate<double>(map).topk_index, expected.topk_index);
}

// Where a row lies in memory must not change a bit of its statistics: a prompt in a padded batch
// and the same prompt alone are read from different addresses.
TEST(AttentionStatistics, AddressesDoNotMatter) {
  constexpr int kKeys = 517;
  const Map map =
      random_map({.n_heads = 1, .n_queries = kKeys, .n_keys = kKeys, .causal = false, .seed = 23});
  const std::vector<float> row(map.pattern.begin(), map.pattern.begin() + kKeys);
  const std::vector<float> norms(kKeys, 1.0F);
  std::vector<float> first;
  for (int offset = 0; offset < 33; ++offset) {
    std::vector<float> memory(static_cast<std::size_t>(kKeys + offset), 0.5F);
    std::copy(row.begin(), row.end(), memory.begin() + offset);
    StatisticsAccumulator accumulator(
        {.n_heads = 1, .n_queries = 1, .n_keys = kKeys, .causal = false, .cross = true});
    const float lse = 0;
    accumulator.add_rows(0, 0, 1, memory.data() + offset, kKeys, &lse,
                         static_cast<const float*>(nullptr));
    accumulator.set_value_norm(0, norms.data());
    const std::vector<float> stats = accumulator.finish().row_stats;
    if (offset == 0) first = stats;
    EXPECT_EQ(stats, first) << "at offset " << offset;
  }
}

}  // namespace
}  // namespace attnscope::testing
