// The first pass, run on the host: the log-sum-exp of each row against dense loops in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cuda_cases.h"

namespace attnscope::testing {
namespace {

// A float near 16 is off by up to 1e-6, and so is the score of a long head.
constexpr double kTolerance = 2e-6;

// The layer's lse may say that a row sees nothing where its scores are there all the same.
bool has_its_own_lse(const CudaCase& options) {
  return options.masked_rows.empty() && options.nan_rows.empty();
}

TEST(CudaLse, EqualsDenseLoopsInEveryTypeAndMask) {
  for (const CudaCase& options : dense_cases()) {
    if (!has_its_own_lse(options)) continue;
    for (const CudaValue value : {CudaValue::f32, CudaValue::f16, CudaValue::bf16}) {
      CudaCase typed = options;
      typed.value = value;
      SCOPED_TRACE(name_of(typed));
      const CudaLayer layer(typed);
      const std::vector<float> got = run_lse(layer);
      const std::vector<double>& expected = layer.map().lse;
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(got[i]), expected[i],
                    kTolerance * std::max(1.0, std::fabs(expected[i])))
            << i;
      }
    }
  }
}

// Scores that no float of e^score holds.
TEST(CudaLse, HoldsForScoresFarFromZero) {
  for (const float factor : {-1000.0F, 1000.0F}) {
    CudaLayer layer({.name = "far",
                     .n_heads = 1,
                     .n_kv_heads = 1,
                     .d_head = 4,
                     .n_queries = 130,
                     .n_keys = 130,
                     .causal = false});
    const std::vector<float> q(std::size_t{130} * 4, 1.0F);
    std::vector<float> k(std::size_t{130} * 4, factor);
    k[400] += 1;  // key 100 is apart by 1/4, the scale
    CudaStatisticsInput input = layer.input();
    input.q = {q.data(), 4, 4};
    input.k = {k.data(), 4, 4};
    input.lse_stride = 130;
    std::vector<float> lse(130);
    emulate_lse(cuda::make_lse_params(input, lse.data()), CudaValue::f32, {});
    const double expected = static_cast<double>(factor) + std::log(129 + std::exp(0.25));
    for (const float value : lse) EXPECT_NEAR(static_cast<double>(value), expected, 1e-4);
  }
}

// A row whose scores are all −inf sees nothing; a NaN stays visible, in its own row only.
TEST(CudaLse, EmptyRowsAndNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const CudaCase& options : {CudaCase{.name = "causal", .n_queries = 70, .n_keys = 70}}) {
    const CudaLayer layer(options);
    CudaStatisticsInput input = layer.input();
    input.lse_stride = 70;
    // Bias −inf at every distance of head 0 but 1; head 1 has a NaN at distance 69, the last row's.
    std::vector<float> bias(std::size_t{2} * 139, 0);
    for (int b = 0; b < 139; ++b) bias[static_cast<std::size_t>(b)] = b == 68 ? 0 : -kInfinity;
    bias[139] = kNan;
    input.distance_bias = bias.data();
    input.bias_stride = 139;
    input.bias_zero = 69;
    std::vector<float> lse(140);
    emulate_lse(cuda::make_lse_params(input, lse.data()), CudaValue::f32, {});
    EXPECT_EQ(lse[0], -kInfinity);
    for (std::size_t i = 1; i < 70; ++i) EXPECT_TRUE(std::isfinite(lse[i])) << i;
    for (std::size_t i = 70; i < 139; ++i) EXPECT_TRUE(std::isfinite(lse[i])) << i;
    EXPECT_TRUE(std::isnan(lse[139]));
  }
}

CudaCase busy_layer(CudaValue value) {
  return {.name = "busy",
          .d_head = 80,
          .n_queries = 140,
          .n_keys = 140,
          .window = 100,
          .sink = true,
          .softcap = 4,
          .bias = Bias::alibi,
          .value = value,
          .numbers = Numbers::real};
}

TEST(CudaLse, OrderChangesNoBit) {
  for (const CudaValue value : {CudaValue::f32, CudaValue::bf16}) {
    const CudaLayer layer(busy_layer(value));
    const std::vector<float> first = run_lse(layer);
    EXPECT_EQ(first, run_lse(layer, {.blocks = BlockOrder::backward}));
    EXPECT_EQ(first, run_lse(layer, {.copies = CopyTime::ordered}));
    EXPECT_EQ(first, run_lse(layer, {.schedule = Schedule::together}));
    if (kUsualSchedule == Schedule::together) continue;
    EXPECT_EQ(first, run_lse(layer, {.schedule = Schedule::descending}));
  }
}

// It waits at three of the places that Sync names; without any one of them rows come out otherwise.
TEST(CudaLse, EverySyncIsNeeded) {
  if (kUsualSchedule == Schedule::together) GTEST_SKIP() << "real threads race, not always alike";
  for (const CudaValue value : {CudaValue::f32, CudaValue::f16}) {
    const CudaLayer layer(busy_layer(value));
    const std::vector<float> expected = run_lse(layer);
    for (const cuda::Sync site : {cuda::Sync::slice, cuda::Sync::scores, cuda::Sync::finished}) {
      Emulation emulation;
      emulation.left_out = site;
      EXPECT_NE(expected, run_lse(layer, emulation)) << "sync " << static_cast<int>(site);
    }
  }
}

// Both passes make the same scores, so the weights of a row add up to 1.
TEST(CudaLse, WeightsOfItAddUpToOne) {
  for (const CudaValue value : {CudaValue::f32, CudaValue::f16}) {
    CudaCase options = busy_layer(value);
    options.sink = false;
    CudaLayer layer(options);
    layer.set_lse(run_lse(layer));
    const CudaResult result = run_pass(layer, {}, {.heads = {0, 1}});
    const auto* const tiles = reinterpret_cast<const float*>(result.tiles.data());
    for (int row = 0; row < 2 * 140; ++row) {
      double sum = 0;
      for (int key = 0; key < 140; ++key) sum += static_cast<double>(tiles[row * 140 + key]);
      EXPECT_NEAR(sum, 1, 1e-6) << row;
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
