// Every engine over small shapes, masks and variants: the same numbers as the reference in float64.
#include <gtest/gtest.h>

#include <cstdio>

#include "attnscope/model/model.h"
#include "attnscope/support/error.h"
#include "engine_cases.h"

namespace attnscope::testing {
namespace {

class Engines : public ::testing::TestWithParam<Variant> {};

// aten gives no statistics by itself: it computes z, and the rest beside it is the reference's.
TEST_P(Engines, AgreeWithTheReferenceInFloat64) {
  const ModelConfig config = tiny_config(GetParam().shape);
  const Model oracle_model = tiny_model(config, random_values, DType::f64);
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Model model = tiny_model(config, random_values, dtype);
    const double bound = dtype == DType::f64 ? 1e-12 : 1e-5;
    // Statistics are stored in float32.
    const double statistics_bound = dtype == DType::f64 ? 1e-6 : 1e-5;
    for (const Engine engine : {Engine::reference, Engine::aten, Engine::cpu_tiled}) {
      Differences found;
      bool ran = true;
      for (const auto& [name, batch] : batches()) {
        const bool maps = shows_maps(engine, batch);
        const auto oracle = run(oracle_model, batch, {.engine = Engine::reference});
        try {
          found.add(*run(model, batch, {.engine = engine, .maps = maps}), *oracle, batch, maps);
        } catch (const Error& error) {
          // A soft-cap and a sink cannot be fused by LibTorch, and it says so.
          EXPECT_EQ(engine, Engine::aten) << error.what();
          EXPECT_TRUE(GetParam().shape.softcap != 0 || GetParam().shape.learned_sink);
          ran = false;
          break;
        }
      }
      if (!ran) continue;
      std::printf("| %s | %s | %s | %.1e | %.1e | %.1e |\n", GetParam().name, engine_name(engine),
                  dtype_name(dtype), found.z, found.pattern, found.statistics);
      EXPECT_LE(found.z, bound) << engine_name(engine);
      EXPECT_LE(found.pattern, bound) << engine_name(engine);
      EXPECT_LE(found.statistics, statistics_bound) << engine_name(engine);
    }
  }
}

// What is wanted of a layer in tiles, and of which heads, changes no bit of what it computes.
TEST_P(Engines, TilesGiveTheSameBitsWhateverIsWanted) {
  const Model model = tiny_model(tiny_config(GetParam().shape), random_values, DType::f32);
  for (const auto& [name, batch] : batches()) {
    const Request bare = {.engine = Engine::cpu_tiled, .maps = false, .statistics = false};
    const auto plain = run(model, batch, bare);
    for (const bool statistics : {false, true}) {
      const auto seen = run(model, batch,
                            {.engine = Engine::cpu_tiled,
                             .maps = shows_maps(Engine::cpu_tiled, batch),
                             .statistics = statistics});
      EXPECT_TRUE(at::equal(seen->hidden, plain->hidden)) << name << " " << batch.padded_length();
      for (const LayerEngine& layer : seen->result.engines) {
        EXPECT_EQ(layer.engine, Engine::cpu_tiled);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Engines, ::testing::ValuesIn(variants()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(EngineChoice, AutoSaysWhatItTookAndWhy) {
  const Model model = tiny_model(tiny_config(base_shape()), random_values, DType::f32);
  const Batch batch = make_batch({sample_row(20)});
  const auto choice = [&](Taps taps, RunOptions options = {}) {
    const LayerEngine layer = model.run(batch, taps, options).engines[0];
    return std::string(engine_name(layer.engine)) + ": " + layer.reason;
  };
  EXPECT_EQ(choice({}), "aten: nothing is wanted of the maps");
  Recorder maps({Site::pattern});
  EXPECT_EQ(choice({.observers = {&maps}}), "cpu_tiled: maps are wanted");
  Recorder statistics({Site::z});
  statistics.statistics_wanted = true;
  EXPECT_EQ(choice({.observers = {&statistics}}), "cpu_tiled: statistics are wanted");
  Recorder one({Site::pattern});
  one.heads = {2};
  EXPECT_EQ(choice({.observers = {&one}}), "aten: few maps are wanted");
  Recorder scores({Site::attn_scores});
  EXPECT_EQ(choice({.observers = {&scores}}), "reference: scores are wanted");
  const Intervention uniform = {.hook = {Site::pattern, 0}, .operation = Operation::uniform};
  EXPECT_EQ(choice({.interventions = {uniform}}), "reference: scores or pattern are changed");
  EXPECT_EQ(choice({}, {.engine = Engine::cpu_tiled}), "cpu_tiled: asked for");
}

TEST(EngineChoice, AutoTakesTilesWhereAFusedPassCannotComputeTheLayer) {
  TinyShape capped = base_shape();
  capped.softcap = 1;
  const Model model = tiny_model(tiny_config(capped), random_values, DType::f32);
  const LayerEngine layer = model.run(make_batch({sample_row(20)}), {}, {}).engines[0];
  EXPECT_EQ(layer.engine, Engine::cpu_tiled);
  EXPECT_EQ(layer.reason, "the scores are soft-capped");
}

// Tiles cannot show scores nor let a pattern be changed, and say so rather than do something else.
TEST(EngineChoice, WhatTilesCannotDoIsAnError) {
  const Model model = tiny_model(tiny_config(base_shape()), random_values, DType::f32);
  const auto expect_refused = [&](Taps taps, RunOptions options, const std::string& why) {
    options.engine = Engine::cpu_tiled;
    try {
      model.run(make_batch({sample_row(20)}), taps, options);
      ADD_FAILURE() << "not refused: " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  Recorder scores({Site::attn_scores});
  expect_refused({.observers = {&scores}}, {}, "scores are wanted");
  const Intervention zero = {.hook = {Site::pattern, 1}, .operation = Operation::zero};
  expect_refused({.interventions = {zero}}, {}, "scores or pattern are changed");
  expect_refused({}, {.gradients = Gradients::on}, "gradients need the reference engine");
}

// A run that starts in the middle joins the base's keys to its own.
TEST(EngineChoice, TilesResumeInTheMiddle) {
  TinyShape shape = base_shape();
  shape.n_kv_heads = 2;
  for (const int window : {0, 50}) {
    shape.window = window;
    const Model model = tiny_model(tiny_config(shape), random_values, DType::f64);
    const Batch batch = make_batch({sample_row(200, 1), sample_row(150, 2)});
    Recorder recorder({Site::resid_pre});
    Taps taps;
    taps.observers = {&recorder};
    const RunResult whole =
        model.run(batch, taps, {.engine = Engine::cpu_tiled, .record_base = BaseRecording::on});
    const ResumeRows rows = {.base_row = {0, 1, 0}, .first = {70, 149, 0}};
    const at::Tensor residual = recorder.value({Site::resid_pre, 1});
    at::Tensor own = at::zeros({3, 200, shape.d_model}, at::kDouble);
    for (int r = 0; r < 3; ++r) {
      const auto row = static_cast<std::size_t>(r);
      const int length = batch.rows[static_cast<std::size_t>(rows.base_row[row])].length;
      const int count = length - rows.first[row];
      own[r]
          .narrow(0, 0, count)
          .copy_(residual[rows.base_row[row]].narrow(0, rows.first[row], count));
    }
    const RunResult resumed = model.run_from({1, LayerPoint::resid_pre}, {.residual = own, .z = {}},
                                             *whole.base, rows, {}, {.engine = Engine::cpu_tiled});
    for (int r = 0; r < 3; ++r) {
      const auto row = static_cast<std::size_t>(r);
      const int length = batch.rows[static_cast<std::size_t>(rows.base_row[row])].length;
      const int count = length - rows.first[row];
      EXPECT_LT(
          largest_difference(resumed.hidden[r].narrow(0, 0, count),
                             whole.hidden[rows.base_row[row]].narrow(0, rows.first[row], count)),
          1e-13);
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
