// What a pass on the device needs and what is refused.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/support/error.h"
#include "cuda_statistics_params.h"
#include "testing/error_code.h"

namespace attnscope::testing {
namespace {

constexpr CudaLimits kLarge = {227 * 1024, std::int64_t{1} << 40};

// GPT-2 small at 1,024 tokens.
struct Layer {
  Layer() {
    spec.n_heads = spec.n_kv_heads = 12;
    spec.d_head = 64;
    spec.scale = 0.125;
    input.spec = &spec;
    input.n_queries = input.n_keys = 1024;
  }
  AttentionSpec spec;
  CudaStatisticsInput input;
};

TEST(CudaPlan, CountsWhatTheDeviceMustHold) {
  const Layer layer;
  CudaMaps maps;
  maps.n_maps = 3;
  const CudaStatisticsPlan plan = plan_cuda_statistics(layer.input, maps, kLarge);
  EXPECT_EQ(plan.query_tiles, 16);
  EXPECT_EQ(plan.top_k, 8);
  EXPECT_EQ(plan.overview_rows, 64);
  EXPECT_EQ(plan.overview_cols, 64);
  EXPECT_EQ(plan.tiles_per_map, 4 * 5 / 2);  // of 4 × 4 tiles those up to the diagonal
  EXPECT_EQ(plan.bytes.rows, 12 * 1024 * 10 * 4);
  EXPECT_EQ(plan.bytes.topk_value, 12 * 1024 * 8 * 4);
  EXPECT_EQ(plan.bytes.topk_index, 12 * 1024 * 8 * 4);
  EXPECT_EQ(plan.bytes.key_sum, 12 * 1024 * 8);
  EXPECT_EQ(plan.bytes.overview, 12 * 64 * 64 * 4);
  EXPECT_EQ(plan.bytes.tiles, 3 * 10 * 256 * 256 * 4);
  EXPECT_EQ(plan.bytes.total, plan.bytes.rows + plan.bytes.topk_value + plan.bytes.topk_index +
                                  plan.bytes.key_sum + plan.bytes.overview + plan.bytes.tiles);
}

TEST(CudaPlan, CountsThePartOfALaunch) {
  Layer layer;
  layer.input.q_begin = 256;
  layer.input.q_end = 768;
  CudaMaps maps;
  maps.n_maps = 3;
  const CudaStatisticsPlan plan = plan_cuda_statistics(layer.input, maps, kLarge);
  EXPECT_EQ(plan.query_tiles, 8);
  EXPECT_EQ(plan.tiles_per_map, 2 + 3);
  EXPECT_EQ(plan.bytes.tiles, 3 * 5 * 256 * 256 * 4);
  EXPECT_EQ(plan.bytes.rows, 12 * 1024 * 10 * 4);
}

TEST(CudaPlan, KeepsNoMoreTopKeysThanThereAreKeys) {
  Layer layer;
  layer.input.n_queries = layer.input.n_keys = 3;
  const CudaStatisticsPlan plan = plan_cuda_statistics(layer.input, {}, kLarge);
  EXPECT_EQ(plan.top_k, 3);
  EXPECT_EQ(plan.overview_rows, 3);
}

// The sm_80 and sm_90 limits are NVIDIA's: 163 and 227 KiB a block.
TEST(CudaPlan, LargestHeadAndMostKeysFitEveryDevice) {
  Layer layer;
  layer.spec.d_head = 256;
  layer.input.top_k = kCudaMaxTopK;
  for (const int n : {64, 1000, 32768}) {
    layer.input.n_queries = layer.input.n_keys = n;
    EXPECT_LE(plan_cuda_statistics(layer.input, {}, kLarge).shared_bytes, 163 * 1024) << n;
  }
}

TEST(CudaPlan, SaysHowManyMapsWouldFit) {
  const Layer layer;
  CudaMaps maps;
  maps.n_maps = 12;
  const CudaStatisticsBytes none = plan_cuda_statistics(layer.input, {}, kLarge).bytes;
  const std::int64_t one_map = 10 * 256 * 256 * 4;
  CudaLimits limits = kLarge;
  limits.memory_bytes = none.total + 5 * one_map + 1;
  try {
    plan_cuda_statistics(layer.input, maps, limits);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "KE11");
    EXPECT_EQ(error.kind(), ErrorKind::limit);
    EXPECT_NE(std::string(error.what()).find("at most 5 maps"), std::string::npos) << error.what();
  }
  maps.n_maps = 5;
  EXPECT_NO_THROW(plan_cuda_statistics(layer.input, maps, limits));
  limits.memory_bytes = none.total - 1;
  EXPECT_EQ(code_of([&] { plan_cuda_statistics(layer.input, {}, limits); }), "KE11");
}

TEST(CudaPlan, SaysHowManyTopKeysWouldFit) {
  Layer layer;
  layer.input.top_k = 32;
  CudaLimits limits = kLarge;
  limits.shared_bytes = plan_cuda_statistics(layer.input, {}, kLarge).shared_bytes - 1;
  try {
    plan_cuda_statistics(layer.input, {}, limits);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("top 31 keys"), std::string::npos) << error.what();
  }
  layer.input.top_k = 31;
  EXPECT_NO_THROW(plan_cuda_statistics(layer.input, {}, limits));
  limits.shared_bytes = 1024;
  EXPECT_EQ(code_of([&] { plan_cuda_statistics(layer.input, {}, limits); }), "KE11");
}

TEST(CudaPlan, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    Layer layer;
    CudaMaps maps;
    change(layer, maps);
    return code_of([&] { plan_cuda_statistics(layer.input, maps, kLarge); }) == "KE10";
  };
  EXPECT_FALSE(refused([](Layer&, CudaMaps&) {}));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.input.spec = nullptr; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.spec.n_kv_heads = 5; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.input.n_keys = 1023; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.input.n_queries = 0; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.input.top_k = 33; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.spec.softmax_mix = 0.5; }));
  EXPECT_TRUE(refused([](Layer&, CudaMaps& m) { m.n_maps = 13; }));
  EXPECT_FALSE(refused([](Layer& l, CudaMaps&) { l.input.q_begin = 256, l.input.q_end = 512; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.input.q_begin = 64; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.input.q_begin = 1024; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.input.q_end = 300; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) { l.input.q_end = 1280; }));
  EXPECT_TRUE(refused([](Layer& l, CudaMaps&) {
    l.spec.window = 4;
    l.spec.mask = MaskKind::bidirectional;
  }));
}

// Every array that a block may read or write.
TEST(CudaPlan, LaunchRefusesAMissingArray) {
  Layer layer;
  layer.spec.learned_sink = layer.spec.alibi = true;
  CudaStatisticsInput& input = layer.input;
  float values[1] = {};
  std::int32_t indices[1] = {};
  std::uint64_t sums[1] = {};
  std::uint32_t cells[1] = {};
  input.q.data = input.k.data = input.lse = input.sink = input.distance_bias = values;
  input.previous_same = indices;
  CudaMaps maps;
  maps.n_maps = 1;
  maps.slot = indices;
  maps.tiles = values;
  CudaStatisticsOutput output = {values, values, indices, sums, cells};
  const auto code = [&] { return code_of([&] { cuda::make_params(input, maps, output); }); };
  ASSERT_EQ(code(), "");
  const auto expect_needed = [&](auto& pointer) {
    const auto kept = std::exchange(pointer, nullptr);
    EXPECT_EQ(code(), "KE10");
    pointer = kept;
  };
  expect_needed(input.q.data);
  expect_needed(input.k.data);
  expect_needed(input.lse);
  expect_needed(input.sink);
  expect_needed(input.distance_bias);
  expect_needed(input.previous_same);
  expect_needed(maps.slot);
  expect_needed(maps.tiles);
  expect_needed(output.rows);
  expect_needed(output.topk_value);
  expect_needed(output.topk_index);
  expect_needed(output.key_sum);
  expect_needed(output.overview);
  EXPECT_EQ(code(), "");
}

}  // namespace
}  // namespace attnscope::testing
