// How runs are observed and changed. What holds between the values of a run, in every family, is
// in tests/parity.
#include <gtest/gtest.h>

#include "attnscope/model/model.h"
#include "attnscope/support/error.h"
#include "recorder.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

class FamilyTest : public ::testing::TestWithParam<std::string> {
 protected:
  Model model(DType dtype = DType::f64) const { return fixture_model(GetParam(), dtype); }
};
INSTANTIATE_TEST_SUITE_P(Families, FamilyTest, ::testing::ValuesIn(fixture_families()));

TEST_P(FamilyTest, EverySiteOfTheInventoryIsReachedInOrderWithItsShape) {
  class Order final : public Observer {
   public:
    Want want(HookId hook) const override {
      const bool map = hook.site == Site::attn_scores || hook.site == Site::pattern;
      return map ? Want::all_maps() : Want::whole_value();
    }
    void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override {
      seen.push_back(hook);
      EXPECT_EQ(value.size(0), batch.size());
      EXPECT_EQ(value.size(1), batch.padded_length()) << hook_name(hook);
    }
    void on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) override {
      seen.push_back(hook);
      EXPECT_EQ(rows.values.size(3), batch.padded_length());
    }
    std::vector<HookId> seen;
  };
  const Model model = this->model();
  Order order;
  Taps taps;
  taps.observers = {&order};
  model.run(make_batch({sample_row(7)}), taps, {});
  EXPECT_EQ(order.seen, model.sites().hooks);
}

// Watching changes nothing, bit for bit, on the same engine.
TEST_P(FamilyTest, ObservationChangesNoBit) {
  const Model model = this->model(DType::f32);
  const Batch batch = make_batch({sample_row(11)});
  Recorder recorder;
  Taps taps;
  taps.observers = {&recorder};
  const RunOptions options = {.engine = Engine::reference};
  EXPECT_TRUE(
      at::equal(model.run(batch, taps, options).logits, model.run(batch, {}, options).logits));
}

TEST(Taps, SomeHeadsAreShownBesideAFusedPassWithoutChangingIt) {
  const Model model = fixture_model("llama", DType::f32);
  const Batch batch = make_batch({sample_row(30)});
  const RunResult plain = model.run(batch, {}, {});
  EXPECT_EQ(plain.engines[0].engine, Engine::aten);
  Recorder all({Site::pattern});
  Recorder some({Site::pattern});
  some.heads = {4, 1};
  Taps taps;
  taps.observers = {&some};
  const RunResult beside = model.run(batch, taps, {});
  EXPECT_EQ(beside.engines[0].engine, Engine::aten);
  EXPECT_TRUE(at::equal(beside.logits, plain.logits));
  taps.observers = {&all};
  const RunResult every = model.run(batch, taps, {});
  EXPECT_EQ(every.engines[0].engine, Engine::cpu_tiled);
  EXPECT_EQ(every.engines[0].reason, "maps are wanted");
  const at::Tensor whole = all.value({Site::pattern, 1});
  const at::Tensor shown = some.value({Site::pattern, 1});
  EXPECT_LT(largest_difference(shown[0][0], whole[0][4]), 1e-5);
  EXPECT_LT(largest_difference(shown[0][1], whole[0][1]), 1e-5);
}

TEST(Taps, SomeQueriesAreShownAlone) {
  class Window final : public Observer {
   public:
    Want want(HookId hook) const override {
      if (hook != HookId{Site::pattern, 1}) return Want::nothing();
      return {.maps = true, .q_begin = 5, .q_end = 7};
    }
    void on_map_rows(HookId, const MapRows& rows, const Batch&) override {
      EXPECT_EQ(rows.q_begin, 5);
      shown = rows.values.clone();
    }
    at::Tensor shown;
  };
  const Model model = fixture_model("llama");
  const Batch batch = make_batch({sample_row(9)});
  for (const Engine engine : {Engine::automatic, Engine::reference}) {
    Window window;
    Recorder whole({Site::pattern});
    Taps taps;
    taps.observers = {&window};
    model.run(batch, taps, {.engine = engine});
    taps.observers = {&whole};
    model.run(batch, taps, {});
    EXPECT_LT(largest_difference(window.shown, whole.value({Site::pattern, 1}).narrow(2, 5, 2)),
              1e-13);
  }
}

TEST(Taps, RowsThatAnObserverKeepsAreNotOverwritten) {
  class Keeper final : public Observer {
   public:
    Want want(HookId hook) const override {
      return hook.site == Site::attn_scores ? Want::all_maps() : Want::nothing();
    }
    void on_map_rows(HookId, const MapRows& rows, const Batch&) override {
      kept.push_back(rows.values);
      copies.push_back(rows.values.clone());
    }
    std::vector<at::Tensor> kept, copies;
  };
  const Model model = fixture_model("gpt2", DType::f32);
  Keeper keeper;
  Taps taps;
  taps.observers = {&keeper};
  model.run(make_batch({sample_row(12)}), taps, {});
  for (std::size_t i = 0; i < keeper.kept.size(); ++i) {
    EXPECT_TRUE(at::equal(keeper.kept[i], keeper.copies[i]));
  }
}

TEST(Taps, AnEdgeKnockedOutHasWeightZeroAndTheRestIsRenormalised) {
  const Model model = fixture_model("gpt2");
  const Batch batch = make_batch({sample_row(6)});
  Recorder before({Site::pattern});
  Recorder after({Site::pattern});
  Taps taps;
  taps.observers = {&before};
  model.run(batch, taps, {});
  taps.observers = {&after};
  taps.interventions = {{.hook = {Site::attn_scores, 0},
                         .operation = Operation::minus_infinity,
                         .heads = {3},
                         .q_positions = {4},
                         .k_positions = {2}}};
  const RunResult result = model.run(batch, taps, {});
  EXPECT_EQ(result.engines[0].reason, "scores or pattern are changed");
  at::Tensor expected = before.value({Site::pattern, 0})[0][3][4].clone();
  expected[2] = 0;
  expected = expected / expected.sum();
  EXPECT_LT(largest_difference(after.value({Site::pattern, 0})[0][3][4], expected), 1e-13);
}

TEST(Taps, AFullyMaskedRowIsZeroAndFlagged) {
  for (const Gradients gradients : {Gradients::off, Gradients::on}) {
    const Model model = fixture_model("llama");
    Recorder recorder({Site::pattern});
    Taps taps;
    taps.observers = {&recorder};
    taps.interventions = {{.hook = {Site::attn_scores, 0},
                           .operation = Operation::minus_infinity,
                           .heads = {2},
                           .q_positions = {3}}};
    const RunResult result = model.run(make_batch({sample_row(6)}), taps, {.gradients = gradients});
    EXPECT_EQ(result.fully_masked_rows, 1);
    EXPECT_EQ(result.non_finite_outputs, 0);
    const at::Tensor row = recorder.value({Site::pattern, 0})[0][2][3];
    EXPECT_TRUE(at::equal(row, at::zeros_like(row)));
  }
}

TEST(Taps, GradientsMatchCentralDifferences) {
  const Model model = fixture_model("llama");
  const Batch batch = make_batch({sample_row(6)});
  const HookId hook = {Site::pattern, 0};
  at::Tensor leaf;
  Taps taps;
  taps.edits[hook] = [&](HookId, const at::Tensor& value, const Batch&) {
    leaf = value.detach().clone().requires_grad_(true);
    return leaf;
  };
  const RunOptions options = {.logits = {.at = LogitsAt::last, .columns = {17}},
                              .gradients = Gradients::on};
  model.run(batch, taps, options).logits.sum().backward();
  const at::Tensor gradient = leaf.grad();
  constexpr double kStep = 1e-5;
  for (const auto& [h, q, k] : {std::tuple{0, 5, 2}, std::tuple{3, 2, 1}, std::tuple{5, 4, 0}}) {
    const auto logit = [&](double by) {
      Taps moved;
      moved.interventions = {{.hook = hook,
                              .operation = Operation::add,
                              .heads = {h},
                              .q_positions = {q},
                              .k_positions = {k},
                              .value = at::scalar_tensor(by, at::TensorOptions(at::kDouble))}};
      return model.run(batch, moved, {.logits = options.logits}).logits.item<double>();
    };
    const double numeric = (logit(kStep) - logit(-kStep)) / (2 * kStep);
    EXPECT_NEAR(gradient[0][h][q][k].item<double>(), numeric,
                1e-6 * std::max(1.0, std::abs(numeric)));
  }
}

TEST(Taps, StopsAfterALayer) {
  const Model model = fixture_model("llama");
  const Batch batch = make_batch({sample_row(6)});
  Recorder recorder({Site::resid_post});
  Taps taps;
  taps.observers = {&recorder};
  const RunResult result = model.run(batch, taps, {.stop_after_layer = 0});
  EXPECT_FALSE(result.logits.defined());
  EXPECT_EQ(result.engines.size(), 1u);
  EXPECT_TRUE(at::equal(result.hidden, recorder.value({Site::resid_post, 0})));
  EXPECT_FALSE(recorder.has({Site::resid_post, 1}));
}

TEST(Taps, BadRunsAreRefused) {
  const Model model = fixture_model("gpt2");
  const auto code = [&](const TokenRow& row, const RunOptions& options) -> std::string {
    try {
      model.run(make_batch({row}), {}, options);
    } catch (const Error& error) {
      return error.code();
    }
    return "none";
  };
  EXPECT_EQ(code({.ids = {0, 100000}}, {}), "MO10");
  EXPECT_EQ(code({.ids = {-1}}, {}), "MO10");
  EXPECT_EQ(code(sample_row(model.config().n_context + 1), {}), "MO11");
  EXPECT_EQ(code(sample_row(model.config().n_context + 1), {.context = ContextLimit::exceed}),
            "MO10")
      << "a learned table has no more rows";
  EXPECT_EQ(code(sample_row(3), {.stop_after_layer = 2}), "MO12");
  EXPECT_EQ(code({.ids = {1, 2}, .token_types = {0, 1}}, {}), "MO10");
  EXPECT_EQ(code(sample_row(3), {.logits = {.at = LogitsAt::positions, .positions = {{3}}}}),
            "MO30");
  EXPECT_EQ(code(sample_row(3), {.logits = {.columns = {100000}}}), "MO32");
  EXPECT_EQ(code(sample_row(3), {}), "none");
}

}  // namespace
}  // namespace attnscope::testing
