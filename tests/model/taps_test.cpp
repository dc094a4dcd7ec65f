// Observing and changing runs of every family.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <thread>

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

// Other tools discard such edits in some families.
TEST_P(FamilyTest, ThePatternIsOnTheComputePath) {
  const Model model = this->model(DType::f32);
  const Batch batch = make_batch({sample_row(9, 1), sample_row(6, 2)}, PadSide::left);
  Recorder recorder({Site::pattern});
  Taps observed;
  observed.observers = {&recorder};
  const at::Tensor plain = model.run(batch, observed, {.engine = Engine::reference}).logits;
  for (int layer = 0; layer < model.config().n_layers; ++layer) {
    const HookId pattern = {Site::pattern, layer};
    Taps same;
    same.interventions = {
        {.hook = pattern, .operation = Operation::set, .value = recorder.value(pattern)}};
    const RunResult overwritten = model.run(batch, same, {.engine = Engine::reference});
    EXPECT_TRUE(at::equal(overwritten.logits, plain)) << layer;
    EXPECT_EQ(overwritten.interventions[0].fired, 2);
    EXPECT_EQ(overwritten.interventions[0].change_norm, 0);

    Taps edited;
    edited.edits[pattern] = [](HookId, const at::Tensor& value, const Batch&) { return value; };
    EXPECT_TRUE(at::equal(model.run(batch, edited, {.engine = Engine::reference}).logits, plain));

    Taps uniform;
    uniform.interventions = {{.hook = pattern, .operation = Operation::uniform}};
    const RunResult moved = model.run(batch, uniform, {.engine = Engine::reference});
    EXPECT_GT(largest_difference(moved.logits, plain), 1e-4) << layer;
    EXPECT_GT(moved.interventions[0].change_norm, 0);
  }
}

// The sums of the residual stream, at every layer.
TEST_P(FamilyTest, ResidualSumsHold) {
  const Model model = this->model();
  Recorder recorder;
  Taps taps;
  taps.observers = {&recorder};
  model.run(make_batch({sample_row(8)}), taps, {});
  const ModelConfig& config = model.config();
  const bool post = config.placement == NormPlacement::post;
  for (int l = 0; l < config.n_layers; ++l) {
    const auto at_site = [&](Site site, int layer) { return recorder.value({site, layer}); };
    const at::Tensor attended = at_site(Site::resid_pre, l) + at_site(Site::attn_out, l);
    const at::Tensor mlp_out = at_site(Site::mlp_out, l);
    const at::Tensor resid_post = at_site(Site::resid_post, l);
    if (config.parallel_block) {
      EXPECT_LT(largest_difference(attended + mlp_out, resid_post), 1e-12);
    } else {
      const at::Tensor resid_mid = at_site(Site::resid_mid, l);
      const at::Tensor read = post ? at_site(Site::normalized_resid_mid, l) : resid_mid;
      EXPECT_LT(largest_difference(attended, resid_mid), 1e-12);
      EXPECT_LT(largest_difference(read + mlp_out, resid_post), 1e-12);
    }
    if (l + 1 < config.n_layers) {
      const Site out = post ? Site::normalized_resid_post : Site::resid_post;
      EXPECT_TRUE(at::equal(at_site(out, l), at_site(Site::resid_pre, l + 1)));
    }
    const at::Tensor pattern = at_site(Site::pattern, l);
    EXPECT_LT((pattern.sum(-1) - 1).abs().max().item<double>(), 1e-13);
    EXPECT_LT(largest_difference(at::softmax(at_site(Site::attn_scores, l), -1), pattern), 1e-13);
    // Heads' results sum to the attention output, before a norm of the branch.
    const at::Tensor o_bias = model.weight(Role::o_bias, l);
    at::Tensor sum = at_site(Site::result, l).sum(2);
    if (o_bias.defined()) sum = sum + o_bias;
    if (config.placement != NormPlacement::sandwich) {
      EXPECT_LT(largest_difference(sum, at_site(Site::attn_out, l)), 1e-12);
    }
  }
}

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

// One compute thread for a scope: with more, equal rows of one product may differ in their bits.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// An inert head's effect is exactly 0: a zeroed row does not touch the rows beside it.
TEST_P(FamilyTest, AnInterventionTouchesItsOwnRowOnly) {
  const OneThread one_thread;
  const Model model = this->model(DType::f32);
  const TokenRow row = sample_row(8);
  const Batch batch = make_batch({row, row, row});
  Taps taps;
  taps.interventions = {
      {.hook = {Site::z, 0}, .operation = Operation::zero, .rows = {1}, .heads = {0}}};
  const at::Tensor logits = model.run(batch, taps, {.engine = Engine::reference}).logits;
  EXPECT_TRUE(at::equal(logits[0], logits[2]));
  EXPECT_GT(largest_difference(logits[0], logits[1]), 1e-5);
}

TEST_P(FamilyTest, ChangingAHeadsResultIsChangingItsZ) {
  const Model model = this->model();
  const Batch batch = make_batch({sample_row(8)});
  const auto ablated = [&](Site site) {
    Taps taps;
    taps.interventions = {{.hook = {site, 1}, .operation = Operation::zero, .heads = {2}}};
    return model.run(batch, taps, {}).logits;
  };
  EXPECT_LT(largest_difference(ablated(Site::z), ablated(Site::result)), 1e-11);
}

TEST_P(FamilyTest, LogitsOnlyWhereTheyAreAsked) {
  const Model model = this->model();
  const Batch batch = make_batch({sample_row(9, 1), sample_row(6, 2)}, PadSide::left);
  const at::Tensor all = model.run(batch, {}, {}).logits;
  const at::Tensor last = model.run(batch, {}, {.logits = {.at = LogitsAt::last}}).logits;
  for (int row = 0; row < 2; ++row) {
    EXPECT_LT(largest_difference(last[row][0], unpadded(all, batch, row)[-1]), 1e-12);
  }
  const LogitsRequest request = {
      .at = LogitsAt::positions, .positions = {{0, -1}, {2, 1}}, .columns = {7, 3}};
  const at::Tensor some = model.run(batch, {}, {.logits = request}).logits;
  EXPECT_EQ(some.sizes(), (at::IntArrayRef{2, 2, 2}));
  const at::Tensor second = unpadded(all, batch, 1);
  EXPECT_NEAR(some[1][0][1].item<double>(), second[2][3].item<double>(), 1e-12);
  EXPECT_NEAR(some[1][1][0].item<double>(), second[1][7].item<double>(), 1e-12);
  const RunResult none = model.run(batch, {}, {.logits = {.at = LogitsAt::none}});
  EXPECT_FALSE(none.logits.defined());
}

TEST_P(FamilyTest, StatisticsOfAPaddedBatchAreThoseOfTheRowsAlone) {
  const Model model = this->model();
  const std::vector<TokenRow> rows = {sample_row(12, 1), sample_row(7, 2)};
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    Recorder padded({Site::embed});
    padded.statistics_wanted = true;
    Taps taps;
    taps.observers = {&padded};
    model.run(make_batch(rows, side), taps, {});
    for (std::size_t row = 0; row < rows.size(); ++row) {
      Recorder single({Site::embed});
      single.statistics_wanted = true;
      Taps alone;
      alone.observers = {&single};
      model.run(make_batch({rows[row]}), alone, {});
      for (int layer = 0; layer < model.config().n_layers; ++layer) {
        const AttentionStatistics& a = padded.statistics(layer)[row];
        const AttentionStatistics& b = single.statistics(layer)[0];
        ASSERT_EQ(a.head_stats.size(), b.head_stats.size());
        for (std::size_t i = 0; i < a.head_stats.size(); ++i) {
          if (std::isnan(b.head_stats[i])) {
            EXPECT_TRUE(std::isnan(a.head_stats[i]));
          } else {
            EXPECT_NEAR(a.head_stats[i], b.head_stats[i], 2e-6);
          }
        }
        EXPECT_EQ(a.topk_index, b.topk_index);
        ASSERT_EQ(a.value_norm.size(), b.value_norm.size());
        for (std::size_t i = 0; i < a.value_norm.size(); ++i) {
          EXPECT_NEAR(a.value_norm[i], b.value_norm[i], 1e-6);
        }
      }
    }
  }
}

// Row statistics against the recorded scores and pattern; ‖f(x)‖ against v·W_O head by head.
TEST_P(FamilyTest, StatisticsAgreeWithTheDenseMaps) {
  const Model model = this->model();
  Recorder recorder({Site::attn_scores, Site::pattern, Site::v});
  recorder.statistics_wanted = true;
  Taps taps;
  taps.observers = {&recorder};
  model.run(make_batch({sample_row(10)}), taps, {});
  for (int layer = 0; layer < model.config().n_layers; ++layer) {
    const AttentionStatistics& statistics = recorder.statistics(layer)[0];
    const at::Tensor scores = recorder.value({Site::attn_scores, layer})[0];
    const at::Tensor pattern = recorder.value({Site::pattern, layer})[0];
    const at::Tensor rows = at::tensor(statistics.row_stats)
                                .view({statistics.n_heads, 10, kRowStatCount})
                                .to(at::kDouble);
    const at::Tensor lse = rows.select(2, static_cast<int>(RowStat::lse));
    EXPECT_LT(largest_difference(lse, at::logsumexp(scores, {-1})), 1e-5);
    const at::Tensor entropy = rows.select(2, static_cast<int>(RowStat::entropy));
    EXPECT_LT(largest_difference(entropy, -at::xlogy(pattern, pattern).sum(-1)), 1e-6);

    const AttentionSpec& spec = model.config().layers[static_cast<std::size_t>(layer)].attention;
    const at::Tensor w_o = model.weight(Role::o_weight, layer);  // [m h·d]
    const at::Tensor v = recorder.value({Site::v, layer})[0];    // [k g d]
    for (int h = 0; h < spec.n_heads; ++h) {
      const at::Tensor w_head = w_o.narrow(1, h * spec.d_head, spec.d_head);
      const at::Tensor f = at::mm(v.select(1, h / (spec.n_heads / spec.n_kv_heads)), w_head.t());
      const at::Tensor norms =
          at::tensor(statistics.value_norm).view({spec.n_heads, 10})[h].to(at::kDouble);
      EXPECT_LT(largest_difference(norms, f.norm(2, {-1})), 1e-6);
    }
  }
}

TEST_P(FamilyTest, TwoThreadsRunOneModelAtOnce) {
  const Model model = this->model(DType::f32);
  const Batch batch = make_batch({sample_row(9)});
  const at::Tensor expected = model.run(batch, {}, {}).logits;
  std::vector<at::Tensor> results(2);
  std::vector<std::thread> threads;
  for (at::Tensor& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) result = model.run(batch, {}, {}).logits;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const at::Tensor& result : results) {
    EXPECT_LT(largest_difference(result, expected), 1e-5);
  }
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
  EXPECT_EQ(every.engines[0].engine, Engine::reference);
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
