// What attention in tiles promises beyond values: bits, ties, masked and undefined rows, work,
// misuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "attnscope/support/error.h"
#include "dense_attention.h"

namespace attnscope::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool same_bits(const AttentionStatistics& a, const AttentionStatistics& b) {
  return same_bits(a.head_stats, b.head_stats) && same_bits(a.row_stats, b.row_stats) &&
         same_bits(a.topk_index, b.topk_index) && same_bits(a.topk_value, b.topk_value) &&
         same_bits(a.key_sum, b.key_sum) && same_bits(a.overview, b.overview);
}

std::vector<AttentionCase> varied_cases() {
  return {
      {.n_queries = 300, .n_keys = 300, .n_heads = 4, .n_kv_heads = 2, .d_head = 6},
      {.n_queries = 277, .n_keys = 277, .n_heads = 3, .n_kv_heads = 1, .window = 50, .sink = true},
      {.n_queries = 130,
       .n_keys = 530,
       .mask = MaskKind::bidirectional,
       .softcap = 2,
       .bias = true,
       .shaw_clip = 9,
       .shaw_values = true},
      // Wide enough for tiles of half the rows.
      {.n_queries = 140, .n_keys = 2200, .n_heads = 2, .mask = MaskKind::bidirectional},
  };
}

TEST(TiledAttentionBits, DoNotDependOnWhatElseIsWanted) {
  for (const AttentionCase& c : varied_cases()) {
    SCOPED_TRACE(c.name());
    const AttentionArrays x = random_arrays(c);
    const auto all = run_tiled<float>(c, x);
    const auto bare = run_tiled<float>(c, x, {.lse = false, .statistics = false, .pattern = false});
    const auto maps = run_tiled<float>(c, x, {.statistics = false});
    const auto statistics = run_tiled<float>(c, x, {.pattern = false});
    EXPECT_TRUE(same_bits(all.z, bare.z));
    EXPECT_TRUE(same_bits(all.z, maps.z));
    EXPECT_TRUE(same_bits(all.z, statistics.z));
    EXPECT_TRUE(same_bits(all.lse, maps.lse));
    EXPECT_TRUE(same_bits(all.lse, statistics.lse));
    EXPECT_TRUE(same_bits(all.pattern, maps.pattern));
    EXPECT_TRUE(same_bits(all.statistics, statistics.statistics));
  }
}

TEST(TiledAttentionBits, DoNotDependOnThreadsAndParts) {
  for (const AttentionCase& c : varied_cases()) {
    SCOPED_TRACE(c.name());
    const AttentionArrays x = random_arrays(c);
    const auto whole = run_tiled<float>(c, x);
    for (const Asked& asked :
         {Asked{.n_threads = 2}, Asked{.n_threads = 3}, Asked{.part_queries = 128},
          Asked{.n_threads = 2, .part_queries = 256}}) {
      const auto other = run_tiled<float>(c, x, asked);
      EXPECT_TRUE(same_bits(whole.z, other.z));
      EXPECT_TRUE(same_bits(whole.lse, other.lse));
      EXPECT_TRUE(same_bits(whole.pattern, other.pattern));
      EXPECT_TRUE(same_bits(whole.statistics, other.statistics));
    }
  }
}

TEST(TiledAttentionBits, DoNotDependOnWhichOtherHeadsAreComputed) {
  for (const AttentionCase& c : varied_cases()) {
    SCOPED_TRACE(c.name());
    const AttentionArrays x = random_arrays(c);
    const auto whole = run_tiled<float>(c, x);
    for (int h = 0; h < c.n_heads; ++h) {
      const auto alone = run_tiled<float>(c, x, {.heads = {h}});
      const auto n = static_cast<std::size_t>(c.n_queries);
      const std::size_t first = static_cast<std::size_t>(h) * n;
      EXPECT_EQ(0, std::memcmp(&alone.lse[first], &whole.lse[first], n * sizeof(float)));
      const auto d = static_cast<std::size_t>(c.d_head);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t z =
            (i * static_cast<std::size_t>(c.n_heads) + static_cast<std::size_t>(h)) * d;
        ASSERT_EQ(0, std::memcmp(&alone.z[z], &whole.z[z], d * sizeof(float))) << i;
      }
    }
  }
}

TEST(TiledTopKeys, OfRandomScoresAreThoseOfDenseAttention) {
  const AttentionCase c = {
      .n_queries = 1024, .n_keys = 1024, .n_heads = 2, .n_kv_heads = 2, .d_head = 64, .seed = 5};
  const AttentionArrays x = random_arrays(c);
  const DenseAttention dense = dense_attention(c, x);
  const AttentionStatistics got = run_tiled<float>(c, x, {.pattern = false}).statistics;
  std::size_t slot = 0, mismatches = 0;
  for (int h = 0; h < c.n_heads; ++h) {
    const Map map = map_of_head(c, x, dense, h);
    std::vector<int> keys(1024);
    for (int i = 0; i < 1024; ++i, slot += 8) {
      keys.resize(static_cast<std::size_t>(i) + 1);
      for (int j = 0; j <= i; ++j) keys[static_cast<std::size_t>(j)] = j;
      std::stable_sort(keys.begin(), keys.end(),
                       [&](int a, int b) { return map.alpha(0, i, a) > map.alpha(0, i, b); });
      for (std::size_t rank = 0; rank < 8; ++rank) {
        const int expected = rank < keys.size() ? keys[rank] : -1;
        mismatches += got.topk_index[slot + rank] != expected ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(mismatches, 0u);
}

// Keys of three kinds, so that whole blocks of a row are equal: the lower key comes first.
TEST(TiledTopKeys, OfEqualScoresAreTheLowerOnes) {
  for (const int top_k : {1, 8, 20}) {
    AttentionCase c = {.n_queries = 600, .n_keys = 600, .n_heads = 1, .n_kv_heads = 1, .d_head = 1};
    c.top_k = top_k;
    AttentionArrays x = random_arrays(c);
    std::fill(x.q.begin(), x.q.end(), 1);
    for (int j = 0; j < 600; ++j) x.k[static_cast<std::size_t>(j)] = j % 100 == 7 ? 2 : j % 2;
    const AttentionStatistics got = run_tiled<float>(c, x).statistics;
    for (int i = 0; i < 600; ++i) {
      std::vector<int> expected;
      for (const double value : {2.0, 1.0, 0.0}) {
        for (int j = 0; j <= i; ++j) {
          if (x.k[static_cast<std::size_t>(j)] == value) expected.push_back(j);
        }
      }
      expected.resize(static_cast<std::size_t>(top_k), -1);
      const auto first = got.topk_index.begin() + static_cast<std::ptrdiff_t>(i) * top_k;
      ASSERT_EQ(std::vector<int>(first, first + top_k), expected) << "row " << i;
    }
  }
}

// Scores so far apart that all weights but one are 0.
TEST(TiledTopKeys, ZerosOfVisibleKeysCountInTheirOrder) {
  AttentionCase c = {.n_queries = 90, .n_keys = 90, .n_heads = 1, .n_kv_heads = 1, .d_head = 1};
  AttentionArrays x = random_arrays(c);
  std::fill(x.q.begin(), x.q.end(), 1);
  for (int j = 0; j < 90; ++j) x.k[static_cast<std::size_t>(j)] = j == 4 ? 500 : 0;
  const AttentionStatistics got = run_tiled<float>(c, x).statistics;
  const auto row = got.topk_index.begin() + 60 * 8;
  EXPECT_EQ(std::vector<int>(row, row + 8), (std::vector<int>{4, 0, 1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(got.topk_value[60 * 8], 1);
  EXPECT_EQ(got.topk_value[60 * 8 + 1], 0);
}

// 150 tokens, one head of size 4, and a bias that can mask.
AttentionCase with_bias() {
  return {.n_queries = 150, .n_keys = 150, .n_heads = 1, .n_kv_heads = 1, .bias = true};
}

template <typename T>
class TiledUndefined : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TiledUndefined, Types);

TYPED_TEST(TiledUndefined, FullyMaskedRowsAreZero) {
  const AttentionCase c = with_bias();
  AttentionArrays x = random_arrays(c);
  // Row i sees key i − 10 and earlier ones only, so that the first ten see none.
  for (int distance = -9; distance <= 0; ++distance) {
    x.bias[static_cast<std::size_t>(distance + x.bias_zero)] = -kInf;
  }
  const auto got = run_tiled<TypeParam>(c, x);
  const DenseAttention dense = dense_attention(c, x);
  for (int i = 0; i < 150; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (i < 10) {
      EXPECT_EQ(got.lse[row], -kInf);
      EXPECT_EQ(got.z[row * 4], 0);
      EXPECT_EQ(got.pattern[row * 150], 0);
      EXPECT_TRUE(std::isnan(got.statistics.row_stats[row * kRowStatCount]));
      EXPECT_EQ(got.statistics.topk_index[row * 8], -1);
    } else {
      EXPECT_NEAR(got.lse[row], dense.lse[row], 2e-6);
      EXPECT_NEAR(got.z[row * 4], dense.z[row * 4], 2e-6);
      EXPECT_EQ(got.pattern[row * 150 + row], 0);
      EXPECT_FALSE(std::isnan(got.statistics.row_stats[row * kRowStatCount]));
    }
  }
  for (const auto value : got.z) EXPECT_FALSE(std::isnan(value));
}

TYPED_TEST(TiledUndefined, FullyMaskedRowsWithASinkPutAllMassOnIt) {
  AttentionCase c = with_bias();
  c.sink = true;
  AttentionArrays x = random_arrays(c);
  x.sink = {0.75};
  std::fill(x.bias.begin(), x.bias.end(), -kInf);
  const auto got = run_tiled<TypeParam>(c, x);
  for (std::size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(got.lse[i], TypeParam{0.75});
    EXPECT_EQ(got.z[i * 4], 0);
    EXPECT_EQ(got.pattern[i * 150], 0);
    const float* const row = &got.statistics.row_stats[i * kRowStatCount];
    EXPECT_EQ(row[static_cast<int>(RowStat::learned_sink)], 1);
    EXPECT_EQ(row[static_cast<int>(RowStat::entropy)], 0);
  }
}

TYPED_TEST(TiledUndefined, NanInAQueryStaysInItsRow) {
  const AttentionCase c = with_bias();
  AttentionArrays x = random_arrays(c);
  const auto clean = run_tiled<TypeParam>(c, x);
  x.q[70 * 4 + 1] = kNan;
  const auto got = run_tiled<TypeParam>(c, x);
  for (std::size_t i = 0; i < 150; ++i) {
    if (i == 70) {
      EXPECT_TRUE(std::isnan(got.lse[i]));
      EXPECT_TRUE(std::isnan(got.z[i * 4]));
      EXPECT_TRUE(std::isnan(got.pattern[i * 150]));
      EXPECT_EQ(got.pattern[i * 150 + 71], 0);  // hidden
      EXPECT_TRUE(std::isnan(got.statistics.row_stats[i * kRowStatCount]));
    } else {
      EXPECT_EQ(got.lse[i], clean.lse[i]);
      EXPECT_EQ(got.z[i * 4], clean.z[i * 4]);
    }
  }
  EXPECT_TRUE(std::isnan(got.statistics.head_stats[0]));
}

TYPED_TEST(TiledUndefined, NanInAKeyReachesTheRowsThatSeeIt) {
  const AttentionCase c = with_bias();
  for (const double bad : {kNan, kInf}) {
    AttentionArrays x = random_arrays(c);
    x.k[70 * 4 + 1] = bad;
    std::fill(x.q.begin(), x.q.end(), 1);
    const auto got = run_tiled<TypeParam>(c, x);
    for (std::size_t i = 0; i < 150; ++i) {
      EXPECT_EQ(std::isnan(got.lse[i]), i >= 70) << i;
      EXPECT_EQ(std::isnan(got.z[i * 4]), i >= 70) << i;
      // The sum of such a row is NaN, and so is every weight that is divided by it.
      for (std::size_t j = 0; j < 150; ++j) {
        const TypeParam weight = got.pattern[i * 150 + j];
        ASSERT_EQ(std::isnan(weight), i >= 70 && j <= i) << i << ", " << j;
        if (j > i) {
          ASSERT_EQ(weight, 0) << i << ", " << j;
        }
      }
    }
  }
}

TYPED_TEST(TiledUndefined, NanInAValueStaysVisible) {
  const AttentionCase c = with_bias();
  AttentionArrays x = random_arrays(c);
  x.v[70 * 4] = kNan;
  const auto got = run_tiled<TypeParam>(c, x);
  for (std::size_t i = 0; i < 150; ++i) {
    EXPECT_FALSE(std::isnan(got.lse[i])) << i;
    // The rows of a tile share the products in which key 70 is.
    if (i < 64 || i >= 70) {
      EXPECT_EQ(std::isnan(got.z[i * 4]), i >= 70) << i;
    }
    EXPECT_FALSE(std::isnan(got.z[i * 4 + 1])) << i;
  }
}

std::int64_t work_of(const AttentionCase& c) {
  const AttentionArrays x = random_arrays(c);
  multiplications_since_last_call();
  run_tiled<float>(c, x, {.statistics = false, .pattern = false});
  return multiplications_since_last_call();
}

TEST(TiledWork, GrowsWithTheWindowAndNotWithTheSquare) {
  const int window = 100;
  AttentionCase c = {.n_heads = 1, .n_kv_heads = 1, .d_head = 2, .window = window};
  std::int64_t before = 0;
  for (const int n : {1024, 2048, 4096}) {
    c.n_queries = c.n_keys = n;
    const std::int64_t work = work_of(c);
    // A tile of 64 queries sees 63 keys more than one query; two products of d each.
    EXPECT_LE(work, std::int64_t{2} * 2 * n * (window + 63)) << n;
    EXPECT_GT(work, std::int64_t{2} * 2 * n * window / 2) << n;
    if (before > 0) {
      EXPECT_NEAR(static_cast<double>(work) / static_cast<double>(before), 2, 0.1) << n;
    }
    before = work;
  }
}

TEST(TiledWork, OfCausalAttentionLeavesOutWhatIsHidden) {
  AttentionCase c = {.n_heads = 1, .n_kv_heads = 1, .d_head = 2};
  c.n_queries = c.n_keys = 1000;
  EXPECT_LE(work_of(c), std::int64_t{2} * 2 * (1000 * 1001 / 2 + 1000 * 32));
}

void expect_misuse(void (*spoil)(AttentionSpec&, TiledAttentionInput<float>&,
                                 TiledAttentionOutput<float>&)) {
  AttentionSpec spec;
  spec.n_heads = spec.n_kv_heads = 2;
  spec.d_head = 1;
  std::vector<float> values(16, 1.0F);
  TiledAttentionInput<float> input;
  input.spec = &spec;
  input.n_queries = input.n_keys = 4;
  input.q = input.k = input.v = {values.data(), 2, 1};
  input.product = plain_product<float>;
  TiledAttentionOutput<float> output;
  output.z = {values.data(), 2, 1};
  EXPECT_NO_THROW(TiledAttention<float>(input, output));
  spoil(spec, input, output);
  try {
    TiledAttention<float>(input, output);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("KE02"), std::string::npos) << error.what();
  }
}

using Input = TiledAttentionInput<float>;
using Output = TiledAttentionOutput<float>;

TEST(TiledMisuse, IsAnInternalError) {
  expect_misuse([](AttentionSpec&, Input& input, Output&) { input.spec = nullptr; });
  expect_misuse([](AttentionSpec&, Input& input, Output&) { input.product = nullptr; });
  expect_misuse([](AttentionSpec&, Input& input, Output&) { input.q.data = nullptr; });
  expect_misuse([](AttentionSpec&, Input&, Output& output) { output.z.data = nullptr; });
  expect_misuse([](AttentionSpec&, Input& input, Output&) { input.n_keys = 0; });
  expect_misuse([](AttentionSpec& spec, Input&, Output&) { spec.n_kv_heads = 3; });
  expect_misuse([](AttentionSpec& spec, Input&, Output&) { spec.softmax_mix = 0.5; });
  expect_misuse([](AttentionSpec& spec, Input&, Output&) { spec.learned_sink = true; });
  expect_misuse([](AttentionSpec& spec, Input&, Output&) { spec.alibi = true; });
  expect_misuse([](AttentionSpec&, Input& input, Output&) { input.shaw.value = input.q.data; });
  expect_misuse([](AttentionSpec&, Input&, Output& output) {
    static StatisticsAccumulator other(
        {.n_heads = 2, .n_queries = 5, .n_keys = 4, .causal = false, .cross = true});
    output.statistics = &other;
  });
}

TEST(TiledMisuse, PartsMustBeCutAndPreparedAsPromised) {
  AttentionSpec spec;
  spec.n_heads = spec.n_kv_heads = 1;
  spec.d_head = 1;
  std::vector<float> values(300, 1.0F);
  const std::vector<std::int64_t> ids(300);
  StatisticsAccumulator statistics({.n_heads = 1, .n_queries = 300, .n_keys = 300, .ids = ids});
  Input input;
  input.spec = &spec;
  input.n_queries = input.n_keys = 300;
  input.q = input.k = input.v = {values.data(), 1, 1};
  input.product = plain_product<float>;
  Output output;
  output.z = {values.data(), 1, 1};
  output.statistics = &statistics;
  TiledAttention<float> attention(input, output);
  TiledScratch<float> scratch;
  const auto part = [](int head, int begin, int end) {
    TiledPart<float> out;
    out.head = head;
    out.q_begin = begin;
    out.q_end = end;
    return out;
  };
  EXPECT_THROW(attention.compute(part(0, 0, 128), scratch), Error);  // not prepared
  EXPECT_THROW(attention.prepare(1), Error);
  attention.prepare(0);
  EXPECT_THROW(attention.compute(part(1, 0, 128), scratch), Error);
  EXPECT_THROW(attention.compute(part(0, 64, 128), scratch), Error);
  EXPECT_THROW(attention.compute(part(0, 0, 100), scratch), Error);
  EXPECT_THROW(attention.compute(part(0, 128, 256), scratch), Error);  // statistics want 0 first
  TiledPart<float> narrow = part(0, 0, 128);
  narrow.pattern = values.data();
  narrow.pattern_stride = 299;
  EXPECT_THROW(attention.compute(narrow, scratch), Error);
  EXPECT_NO_THROW(attention.compute(part(0, 0, 256), scratch));
  EXPECT_NO_THROW(attention.compute(part(0, 256, 300), scratch));
}

}  // namespace
}  // namespace attnscope::testing
