// In what order threads and blocks come must not matter, and each place where they wait must.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cuda_cases.h"

namespace attnscope::testing {
namespace {

// Several slices, several tiles, a sink, a window, a bias, equal ids: all that a block does.
CudaCase busy_layer(CudaValue value) {
  return {.name = "busy",
          .n_heads = 2,
          .n_kv_heads = 1,
          .d_head = 80,
          .n_queries = 140,
          .n_keys = 140,
          .window = 100,
          .sink = true,
          .bias = Bias::alibi,
          .value = value};
}

const CudaMapChoice kOneMap = {.heads = {1}};

TEST(CudaOrder, ChangesNoBit) {
  for (const CudaValue value : {CudaValue::f32, CudaValue::bf16}) {
    const CudaLayer layer(busy_layer(value));
    const CudaResult first = run_pass(layer, {}, kOneMap);
    EXPECT_EQ(first, run_pass(layer, {}, kOneMap));
    EXPECT_EQ(first, run_pass(layer, {.blocks = BlockOrder::backward}, kOneMap));
    EXPECT_EQ(first, run_pass(layer, {.copies = CopyTime::ordered}, kOneMap));
    if (kUsualSchedule == Schedule::together) continue;
    EXPECT_EQ(first, run_pass(layer, {.schedule = Schedule::descending}, kOneMap));
  }
}

// What a thread sanitizer watches: all threads at once, nothing orders them but the syncs.
TEST(CudaOrder, ThreadsAtOnceGiveTheSameBits) {
  const std::vector<CudaCase> layers = {
      busy_layer(CudaValue::f32),
      busy_layer(CudaValue::f16),
      {.name = "element by element", .d_head = 5, .n_queries = 70, .n_keys = 70},
      {.name = "cross", .n_queries = 70, .n_keys = 140, .causal = false, .cross = true}};
  for (const CudaCase& options : layers) {
    SCOPED_TRACE(name_of(options));
    const CudaLayer layer(options);
    const CudaResult expected = run_pass(layer, {}, kOneMap);
    for (const CopyTime copies : {CopyTime::ordered, CopyTime::awaited}) {
      EXPECT_EQ(expected,
                run_pass(layer, {.schedule = Schedule::together, .copies = copies}, kOneMap));
    }
  }
}

// Without any one of the syncs a block gives something else: none is idle, and a missing one is
// seen.
TEST(CudaOrder, EverySyncIsNeeded) {
  if (kUsualSchedule == Schedule::together) GTEST_SKIP() << "real threads race, not always alike";
  for (const CudaValue value : {CudaValue::f32, CudaValue::f16}) {
    const CudaLayer layer(busy_layer(value));
    const CudaResult expected = run_pass(layer, {}, kOneMap);
    for (int site = 0; site < cuda::kSyncCount; ++site) {
      Emulation emulation;
      emulation.left_out = static_cast<cuda::Sync>(site);
      EXPECT_FALSE(expected == run_pass(layer, emulation, kOneMap)) << "sync " << site;
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
