// The CUDA statistics pass, run on the host, against dense loops in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda_cases.h"
#include "testing/error_code.h"

namespace attnscope::testing {
namespace {

// A float log-sum-exp near 16 is off by up to 5e-7, and so are the weights of its row; a float
// score of a long head adds about as much.
constexpr double kTolerance = 4e-6;

void expect_near(const std::vector<float>& got, const std::vector<double>& expected,
                 const char* what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << what << " at " << i << ": " << got[i];
    } else if (std::isinf(expected[i])) {
      ASSERT_EQ(static_cast<double>(got[i]), expected[i]) << what << " at " << i;
    } else {
      ASSERT_NEAR(static_cast<double>(got[i]), expected[i],
                  kTolerance * std::max(1.0, std::fabs(expected[i])))
          << what << " at " << i;
    }
  }
}

void expect_overview(const AttentionStatistics& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.overview.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_LE(std::fabs(got.overview[i] - expected[i]), 0.5 + 1e-3) << "cell " << i;
  }
}

void expect_dense(const CudaCase& options) {
  SCOPED_TRACE(name_of(options));
  const CudaLayer layer(options);
  const AttentionStatistics got = finish(layer, run_pass(layer));
  const BruteForce expected = brute_force(layer.map());
  expect_near(got.head_stats, expected.head_stats, "head statistics");
  expect_near(got.row_stats, expected.row_stats, "row statistics");
  expect_near(got.topk_value, expected.topk_value, "top-k values");
  expect_near(got.key_sum, expected.key_sum, "key sums");
  expect_overview(got, expected.overview);
  if (options.numbers == Numbers::exact) {
    EXPECT_EQ(got.topk_index, expected.topk_index);
  }
}

const std::vector<CudaCase>& layers() {
  static const std::vector<CudaCase> all = {
      {.name = "one token", .n_queries = 1, .n_keys = 1},
      {.name = "causal", .n_queries = 7, .n_keys = 7},
      {.name = "one tile", .n_queries = 64, .n_keys = 64},
      {.name = "one more", .n_queries = 65, .n_keys = 65},
      {.name = "three tiles", .n_queries = 150, .n_keys = 150, .n_ids = 12},
      {.name = "real numbers",
       .d_head = 64,
       .n_queries = 130,
       .n_keys = 130,
       .numbers = Numbers::real},
      {.name = "bidirectional", .n_queries = 70, .n_keys = 70, .causal = false},
      {.name = "cross", .n_queries = 5, .n_keys = 131, .causal = false, .cross = true, .top_k = 32},
      {.name = "tall cross", .n_queries = 131, .n_keys = 5, .causal = false, .cross = true},
      {.name = "window", .n_queries = 140, .n_keys = 140, .window = 70},
      {.name = "window of one", .n_queries = 66, .n_keys = 66, .window = 1},
      {.name = "narrow window", .n_queries = 200, .n_keys = 200, .window = 3, .n_ids = 2},
      {.name = "grouped", .n_heads = 6, .n_kv_heads = 2, .n_queries = 40, .n_keys = 40},
      {.name = "one kv head", .n_heads = 4, .n_kv_heads = 1, .n_queries = 33, .n_keys = 33},
      {.name = "sink", .n_queries = 70, .n_keys = 70, .sink = true},
      {.name = "soft-cap", .n_queries = 50, .n_keys = 50, .softcap = 5},
      {.name = "ALiBi", .n_queries = 90, .n_keys = 90, .bias = Bias::alibi},
      {.name = "buckets", .n_queries = 66, .n_keys = 66, .causal = false, .bias = Bias::buckets},
      {.name = "all at once",
       .n_heads = 4,
       .n_queries = 100,
       .n_keys = 100,
       .window = 80,
       .sink = true,
       .softcap = 4,
       .bias = Bias::alibi},
      {.name = "padded", .n_queries = 37, .n_keys = 37, .pads_before = 5, .pads_after = 3},
      {.name = "padded, bidirectional",
       .n_queries = 67,
       .n_keys = 67,
       .causal = false,
       .pads_before = 2},
      {.name = "rows that see nothing",
       .n_queries = 70,
       .n_keys = 70,
       .masked_rows = {0, 3, 64, 69}},
      {.name = "no row sees", .n_queries = 2, .n_keys = 2, .masked_rows = {0, 1}},
      {.name = "one key", .n_queries = 20, .n_keys = 20, .top_k = 1},
      {.name = "many keys", .n_queries = 70, .n_keys = 70, .top_k = 32},
      {.name = "odd head", .d_head = 5, .n_queries = 70, .n_keys = 70},
      {.name = "odd rows", .d_head = 24, .n_queries = 66, .n_keys = 66, .row_gap = 1},
      {.name = "two slices", .d_head = 72, .n_queries = 70, .n_keys = 70},
      {.name = "large head",
       .n_heads = 1,
       .n_kv_heads = 1,
       .d_head = 256,
       .n_queries = 66,
       .n_keys = 66},
      {.name = "one id", .n_queries = 70, .n_keys = 70, .n_ids = 1},
      {.name = "own ids", .n_queries = 70, .n_keys = 70, .n_ids = 1000000}};
  return all;
}

TEST(CudaStatistics, EqualDenseLoopsInEveryTypeAndMask) {
  for (const CudaCase& layer : layers()) {
    for (const CudaValue value : {CudaValue::f32, CudaValue::f16, CudaValue::bf16}) {
      CudaCase options = layer;
      options.value = value;
      expect_dense(options);
      if (HasFatalFailure()) return;
    }
  }
}

// The accumulator of the CPU and the device's pass are two ways to the same numbers.
TEST(CudaStatistics, EqualTheAccumulator) {
  for (const CudaCase& options : layers()) {
    SCOPED_TRACE(name_of(options));
    if (options.numbers != Numbers::exact) continue;
    const CudaLayer layer(options);
    const AttentionStatistics got = finish(layer, run_pass(layer));
    const AttentionStatistics expected = accumulate<double>(layer.map());
    const auto wide = [](const std::vector<float>& values) {
      return std::vector<double>(values.begin(), values.end());
    };
    expect_near(got.head_stats, wide(expected.head_stats), "head statistics");
    expect_near(got.row_stats, wide(expected.row_stats), "row statistics");
    expect_near(got.topk_value, wide(expected.topk_value), "top-k values");
    expect_near(got.key_sum, wide(expected.key_sum), "key sums");
    EXPECT_EQ(got.topk_index, expected.topk_index);
    EXPECT_EQ(got.value_norm, expected.value_norm);
    EXPECT_EQ(got.top_k, expected.top_k);
    EXPECT_EQ(got.overview_rows, expected.overview_rows);
    EXPECT_EQ(got.overview_cols, expected.overview_cols);
  }
}

TEST(CudaStatistics, NanStaysVisible) {
  const CudaLayer layer({.name = "NaN", .n_queries = 70, .n_keys = 70, .nan_rows = {3, 65}});
  const AttentionStatistics got = finish(layer, run_pass(layer));
  for (int h = 0; h < 2; ++h) {
    EXPECT_TRUE(std::isnan(got.head_stats[static_cast<std::size_t>(h * kHeadStatCount)]));
    for (int i = 0; i < 70; ++i) {
      const auto row = static_cast<std::size_t>((h * 70 + i) * kRowStatCount);
      const bool is_nan = i == 3 || i == 65;
      for (const RowStat stat : {RowStat::entropy, RowStat::max, RowStat::distance}) {
        EXPECT_EQ(std::isnan(got.row_stats[row + static_cast<std::size_t>(stat)]), is_nan) << i;
      }
      // Row 65 is the last to see key 65.
      EXPECT_EQ(std::isnan(got.key_sum[static_cast<std::size_t>(h * 70 + i)]), i <= 65) << i;
    }
  }
}

TEST(CudaStatistics, ShapesThatMakeNoSenseAreRefused) {
  const CudaLayer layer({});
  const auto code = [&](auto change) {
    StatisticsShape shape = layer.shape();
    change(shape);
    return code_of([&] { finish_cuda_statistics(shape, {}); });
  };
  EXPECT_EQ(code([](StatisticsShape& shape) { shape.n_keys = 0; }), "KE10");
  EXPECT_EQ(code([](StatisticsShape& shape) { shape.n_queries = 6; }), "KE10");
  EXPECT_EQ(code([](StatisticsShape& shape) { shape.ids = {}; }), "KE10");
  EXPECT_EQ(code([](StatisticsShape& shape) { shape.top_k = 33; }), "KE10");
}

}  // namespace
}  // namespace attnscope::testing
