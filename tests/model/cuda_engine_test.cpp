// The engine for GPUs from end to end, its kernels run on the host
// (tests/kernels/cuda_on_host.cpp).
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "attnscope/support/error.h"
#include "deliveries.h"
#include "engine_cases.h"

namespace attnscope::testing {
namespace {

class CudaEngine : public ::testing::TestWithParam<Variant> {};

TEST_P(CudaEngine, AgreesWithTheReferenceInFloat64) {
  const ModelConfig config = tiny_config(GetParam().shape);
  const Model oracle_model = tiny_model(config, random_values, DType::f64);
  const Model model = tiny_model(config, random_values, DType::f32);
  Differences found;
  for (const auto& [name, batch] : batches()) {
    const bool maps = shows_maps(Engine::cuda, batch);
    const auto oracle = run(oracle_model, batch, {.engine = Engine::reference});
    const auto ours = run(model, batch, {.engine = Engine::cuda, .maps = maps});
    found.add(*ours, *oracle, batch, maps);
    EXPECT_EQ(ours->result.fully_masked_rows, 0);
    for (const LayerEngine& layer : ours->result.engines) EXPECT_EQ(layer.engine, Engine::cuda);
  }
  std::printf("| %s | cuda | f32 | %.1e | %.1e | %.1e |\n", GetParam().name, found.z, found.pattern,
              found.statistics);
  EXPECT_LE(found.z, 1e-5);
  EXPECT_LE(found.pattern, 1e-5);
  EXPECT_LE(found.statistics, 1e-5);
}

// The same top keys as tiles on the CPU, of values that are no ties.
TEST_P(CudaEngine, NamesTheSameTopKeys) {
  const Model model = tiny_model(tiny_config(GetParam().shape), random_values, DType::f32);
  const Batch batch = make_batch({sample_row(100)});
  const auto cpu = run(model, batch, {.engine = Engine::cpu_tiled, .maps = false});
  const auto cuda = run(model, batch, {.engine = Engine::cuda, .maps = false});
  for (int layer = 0; layer < 2; ++layer) {
    const AttentionStatistics& a = cpu->maps.statistics(layer)[0];
    const AttentionStatistics& b = cuda->maps.statistics(layer)[0];
    ASSERT_EQ(a.topk_index.size(), b.topk_index.size());
    for (std::size_t i = 0; i < a.topk_index.size(); ++i) {
      if (a.topk_index[i] == b.topk_index[i]) continue;
      EXPECT_NEAR(a.topk_value[i], b.topk_value[i], 1e-6) << i;
    }
    int differ = 0;
    for (std::size_t i = 0; i < a.overview.size(); ++i) {
      differ += std::abs(a.overview[i] - b.overview[i]) > 1 ? 1 : 0;
    }
    EXPECT_EQ(differ, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, CudaEngine, ::testing::ValuesIn(variants()),
                         [](const auto& test) { return std::string(test.param.name); });

// Rows longer than a part of 256 queries and than a strip of 512, with pads on either side.
TEST(CudaEngineFacts, LongRowsAgreeWithTheReferenceInFloat64) {
  for (Variant variant : variants()) {
    const std::string name = variant.name;
    if (name != "causal" && name != "bidirectional" && name != "window_70_gqa") continue;
    variant.shape.n_context = 600;
    const ModelConfig config = tiny_config(variant.shape);
    const Model oracle_model = tiny_model(config, random_values, DType::f64);
    const Model model = tiny_model(config, random_values, DType::f32);
    for (const PadSide side : {PadSide::right, PadSide::left}) {
      const Batch batch = make_batch({sample_row(530, 1), sample_row(257, 2)}, side);
      const bool maps = shows_maps(Engine::cuda, batch);
      const auto oracle = run(oracle_model, batch, {.engine = Engine::reference});
      Differences found;
      found.add(*run(model, batch, {.engine = Engine::cuda, .maps = maps}), *oracle, batch, maps);
      EXPECT_LE(found.z, 1e-5) << name;
      EXPECT_LE(found.pattern, 1e-5) << name;
      EXPECT_LE(found.statistics, 1e-5) << name;
    }
  }
}

// What is watched changes no bit of what is computed, nor of what else is seen.
TEST(CudaEngineFacts, WatchingChangesNoBit) {
  const Model model = tiny_model(tiny_config(base_shape()), random_values, DType::f32);
  const Batch batch = make_batch({sample_row(300, 1), sample_row(70, 2)});
  const auto all = run(model, batch, {.engine = Engine::cuda});
  const auto bare = run(model, batch, {.engine = Engine::cuda, .maps = false, .statistics = false});
  const auto some = run(model, batch, {.engine = Engine::cuda, .heads = {3, 1}});
  EXPECT_TRUE(at::equal(all->hidden, bare->hidden));
  const HookId hook = {Site::pattern, 1};
  EXPECT_TRUE(at::equal(some->maps.value(hook).select(1, 0), all->maps.value(hook).select(1, 3)));
  EXPECT_TRUE(at::equal(some->maps.value(hook).select(1, 1), all->maps.value(hook).select(1, 1)));
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_EQ(some->maps.statistics(1)[b].row_stats, all->maps.statistics(1)[b].row_stats);
    EXPECT_EQ(some->maps.statistics(1)[b].key_sum, all->maps.statistics(1)[b].key_sum);
  }
}

// Halves go to the kernels as they are. Their own scores are exact there, so that statistics are
// those of the reference on the same halves in float32, up to the rounding of q and k, which is the
// same in both.
TEST(CudaEngineFacts, HalvesAgreeWithTheReferenceOnHalves) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    TinyShape shape = base_shape();
    shape.n_layers = 1;
    const Model model = tiny_model(tiny_config(shape), random_values, dtype);
    const Batch batch = make_batch({sample_row(130)});
    const auto reference = run(model, batch, {.engine = Engine::reference});
    const auto cuda = run(model, batch, {.engine = Engine::cuda});
    const HookId hook = {Site::pattern, 0};
    EXPECT_LE(largest_difference(cuda->maps.value(hook), reference->maps.value(hook)), 1e-5);
  }
}

// Notes the order in which it is called.
class Order final : public Observer {
 public:
  Want want(HookId hook) const override {
    Want want;
    want.value = hook.site == Site::resid_post;
    want.statistics = want.maps = hook.site == Site::pattern;
    return want;
  }
  void on_value(HookId hook, const at::Tensor&, const Batch&) override { note("value", hook); }
  void on_map_rows(HookId hook, const MapRows& rows, const Batch&) override {
    EXPECT_LE(rows.values.size(2), 128);
    note("rows " + std::to_string(rows.q_begin), hook);
  }
  void on_statistics(HookId hook, std::span<const AttentionStatistics>, const Batch&) override {
    note("statistics", hook);
  }
  std::vector<std::string> calls;

 private:
  void note(const std::string& what, HookId hook) {
    calls.push_back(what + " of " + std::to_string(hook.layer));
  }
};

// One result is on its way while the next is computed; all are shown before the run ends.
TEST(CudaEngineFacts, ShowsAResultWhileTheNextIsOnItsWay) {
  const Model model = tiny_model(tiny_config(base_shape()), random_values, DType::f32);
  Order order;
  Taps taps;
  taps.observers = {&order};
  model.run(make_batch({sample_row(300)}), taps, {.engine = Engine::cuda});
  const std::vector<std::string> expected = {
      "rows 0 of 0", "rows 128 of 0", "rows 256 of 0", "value of 0", "statistics of 0",
      "rows 0 of 1", "rows 128 of 1", "rows 256 of 1", "value of 1", "statistics of 1"};
  EXPECT_EQ(order.calls, expected);
}

TEST(CudaEngineFacts, DeliveriesKeepTheirOrderAndTheirNumber) {
  Deliveries deliveries;
  std::vector<int> shown;
  for (int i = 0; i < 5; ++i) {
    deliveries.push([&shown, i] { shown.push_back(i); });
    EXPECT_EQ(static_cast<int>(shown.size()),
              std::max(0, i + 2 - static_cast<int>(kResultsInFlight)));
  }
  deliveries.flush();
  EXPECT_EQ(shown, (std::vector<int>{0, 1, 2, 3, 4}));
}

// An observer that stops the run is heard, whatever still waits.
TEST(CudaEngineFacts, AnObserversErrorEndsTheRun) {
  class Stop final : public Observer {
   public:
    Want want(HookId hook) const override { return {.statistics = hook.site == Site::pattern}; }
    void on_statistics(HookId, std::span<const AttentionStatistics>, const Batch&) override {
      throw Error(ErrorKind::interrupted, "XX00", {.what = "stop"});
    }
  } stop;
  Taps taps;
  taps.observers = {&stop};
  const Model model = tiny_model(tiny_config(base_shape()), random_values, DType::f32);
  EXPECT_THROW(model.run(make_batch({sample_row(20)}), taps, {.engine = Engine::cuda}), Error);
}

TEST(CudaEngineFacts, WhatItCannotDoIsAnError) {
  const auto expect_refused = [](const Model& model, Taps taps, const Batch& batch,
                                 const std::string& why) {
    try {
      model.run(batch, taps, {.engine = Engine::cuda});
      ADD_FAILURE() << "not refused: " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  const ModelConfig config = tiny_config(base_shape());
  const Model model = tiny_model(config, random_values, DType::f32);
  const Batch batch = make_batch({sample_row(20)});
  Recorder scores({Site::attn_scores});
  expect_refused(model, {.observers = {&scores}}, batch, "scores are wanted");
  const Intervention zero = {.hook = {Site::pattern, 1}, .operation = Operation::zero};
  expect_refused(model, {.interventions = {zero}}, batch, "scores or pattern are changed");
  Recorder maps({Site::pattern});
  expect_refused(model, {.observers = {&maps}},
                 make_batch({sample_row(20), sample_row(3)}, PadSide::left), "pads on the left");
  expect_refused(tiny_model(config, random_values, DType::f64), {}, batch, "float64");
  TinyShape wide = base_shape();
  wide.d_head = 257;
  expect_refused(tiny_model(tiny_config(wide), random_values, DType::f32), {}, batch,
                 "heads are wider");
}

}  // namespace
}  // namespace attnscope::testing
