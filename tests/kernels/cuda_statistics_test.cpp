// The CUDA statistics pass, run on the host, against dense loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cuda_cases.h"
#include "testing/error_code.h"

namespace attnscope::testing {
namespace {

// A float log-sum-exp near 16 is off by up to 5e-7, and so are the weights of its row; a float
// score of a long head adds about as much.
constexpr double kTolerance = 4e-6;

// The accumulator's result as if it were that of the loops.
BruteForce as_expected(const AttentionStatistics& statistics) {
  const auto wide = [](const auto& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  return {wide(statistics.head_stats), wide(statistics.row_stats), wide(statistics.topk_value),
          wide(statistics.key_sum),    statistics.topk_index,      wide(statistics.overview)};
}

TEST(CudaStatistics, EqualDenseLoopsInEveryTypeAndMask) {
  for (const CudaCase& options : dense_cases()) {
    for (const CudaValue value : {CudaValue::f32, CudaValue::f16, CudaValue::bf16}) {
      CudaCase typed = options;
      typed.value = value;
      const CudaLayer layer(typed);
      const AttentionStatistics got = finish(layer, run_pass(layer));
      EXPECT_EQ(first_difference(typed, got, brute_force(layer.map()), kTolerance), "")
          << name_of(typed);
    }
  }
}

// The accumulator of the CPU and the device's pass are two ways to the same numbers.
TEST(CudaStatistics, EqualTheAccumulator) {
  for (const CudaCase& options : dense_cases()) {
    const CudaLayer layer(options);
    const AttentionStatistics got = finish(layer, run_pass(layer));
    const AttentionStatistics expected = accumulate<double>(layer.map());
    EXPECT_EQ(first_difference(options, got, as_expected(expected), kTolerance), "")
        << name_of(options);
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
