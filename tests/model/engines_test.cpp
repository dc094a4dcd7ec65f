// Every engine over small shapes, masks and variants: the same numbers as the reference in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "attnscope/model/model.h"
#include "attnscope/support/error.h"
#include "recorder.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

struct Variant {
  const char* name;
  TinyShape shape;
};

TinyShape base_shape() {
  TinyShape shape = {.n_layers = 2,
                     .n_heads = 4,
                     .n_kv_heads = 4,
                     .d_model = 24,
                     .d_head = 6,
                     .d_vocab = 220,
                     .n_context = 400};
  shape.scale = 30;  // sharp patterns
  return shape;
}

template <typename Change>
Variant variant(const char* name, Change&& change) {
  Variant made = {name, base_shape()};
  change(made.shape);
  return made;
}

std::vector<Variant> variants() {
  return {
      variant("causal", [](TinyShape&) {}),
      variant("bidirectional", [](TinyShape& s) { s.mask = MaskKind::bidirectional; }),
      variant("gqa", [](TinyShape& s) { s.n_kv_heads = 2; }),
      variant("mqa", [](TinyShape& s) { s.n_kv_heads = 1; }),
      variant("d_1", [](TinyShape& s) { s.d_head = 1; }),
      variant("d_64", [](TinyShape& s) { s.d_head = 64; }),
      variant("window_1", [](TinyShape& s) { s.window = 1; }),
      variant("window_5", [](TinyShape& s) { s.window = 5; }),
      variant("window_70_gqa", [](TinyShape& s) { s.window = 70, s.n_kv_heads = 2; }),
      variant("rotary", [](TinyShape& s) { s.rotary = true; }),
      variant("softcap", [](TinyShape& s) { s.softcap = 0.75; }),
      variant("sink", [](TinyShape& s) { s.learned_sink = true; }),
      variant("sink_softcap_window_mqa",
              [](TinyShape& s) {
                s.learned_sink = true, s.softcap = 1.5, s.window = 33, s.n_kv_heads = 1;
              }),
  };
}

struct Batches {
  const char* name;
  Batch batch;
};

std::vector<Batches> batches() {
  std::vector<Batches> all;
  for (const int length : {1, 2, 63, 64, 65, 127, 128, 129, 257, 300}) {
    all.push_back({"alone", make_batch({sample_row(length, length)})});
  }
  for (const PadSide side : {PadSide::right, PadSide::left}) {
    all.push_back(
        {"padded", make_batch({sample_row(131, 1), sample_row(1, 2), sample_row(64, 3)}, side)});
  }
  return all;
}

struct Seen {
  at::Tensor hidden;
  Recorder maps{{Site::pattern, Site::z}};
  RunResult result;
};

struct Request {
  Engine engine = Engine::automatic;
  bool maps = true;
  bool statistics = true;
};

std::unique_ptr<Seen> run(const Model& model, const Batch& batch, const Request& request) {
  auto seen = std::make_unique<Seen>();
  if (!request.maps) seen->maps = Recorder({Site::z});
  seen->maps.statistics_wanted = request.statistics;
  Taps taps;
  taps.observers = {&seen->maps};
  seen->result = model.run(batch, taps, {.engine = request.engine});
  seen->hidden = seen->result.hidden;
  return seen;
}

bool shows_maps(Engine engine, const Batch& batch) {
  return engine != Engine::cpu_tiled || std::all_of(batch.rows.begin(), batch.rows.end(),
                                                    [](RowSpan row) { return row.start == 0; });
}

double scaled(double difference, double size) {
  return difference / std::max(1.0, size);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return scaled(largest_difference(a, b), b.abs().max().item<double>());
}

// NaN only where both are.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return INFINITY;
    if (std::isnan(a[i]) || a[i] == b[i]) continue;
    largest = std::max(largest, scaled(std::abs(double{a[i]} - double{b[i]}), std::abs(b[i])));
  }
  return largest;
}

double difference(const AttentionStatistics& a, const AttentionStatistics& b) {
  return std::max({difference(a.head_stats, b.head_stats), difference(a.row_stats, b.row_stats),
                   difference(a.topk_value, b.topk_value), difference(a.key_sum, b.key_sum),
                   difference(a.value_norm, b.value_norm)});
}

// Largest differences from the reference in float64.
struct Differences {
  double z = 0, pattern = 0, statistics = 0;

  void add(const Seen& ours, const Seen& oracle, const Batch& batch, bool maps) {
    for (int layer = 0; layer < 2; ++layer) {
      const HookId z_hook = {Site::z, layer};
      const HookId map_hook = {Site::pattern, layer};
      for (int row = 0; row < batch.size(); ++row) {
        const auto b = static_cast<std::size_t>(row);
        const auto [start, length] = batch.rows[b];
        z = std::max(z, difference(unpadded(ours.maps.value(z_hook), batch, row),
                                   unpadded(oracle.maps.value(z_hook), batch, row)));
        statistics = std::max(statistics, difference(ours.maps.statistics(layer)[b],
                                                     oracle.maps.statistics(layer)[b]));
        if (!maps) continue;
        const auto part = [&](const Seen& seen) {
          return seen.maps.value(map_hook)[row].narrow(1, start, length);
        };
        pattern = std::max(pattern, difference(part(ours), part(oracle)));
      }
    }
  }
};

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
