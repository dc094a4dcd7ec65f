// Path patching against models whose paths are known, against attribution where the model is linear
// in what the sender says, and against the four passes written out one run a receiver.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attnscope/probes/attribution.h"
#include "attnscope/probes/known_answer.h"
#include "attnscope/probes/known_answer_gates.h"
#include "attnscope/probes/known_answer_varied.h"
#include "attnscope/support/error.h"
#include "parity/recorder.h"
#include "path.h"
#include "testing/error_code.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

Model load(const Checkpoint& checkpoint, DType dtype = DType::f64) {
  Warnings warnings;
  return Model::load(checkpoint, {.dtype = dtype}, warnings);
}

UnitSet head(int layer, int index, int position = -1) {
  return {{.kind = UnitKind::head, .layer = layer, .index = index, .position = position}};
}

UnitSet mlp(int layer, int position = -1) {
  return {{.kind = UnitKind::mlp, .layer = layer, .index = 0, .position = position}};
}

ReceiverId to(ReceiverKind kind, int layer = -1, int index = 0) {
  return {.kind = kind, .layer = layer, .index = index};
}

// What stands behind a prompt's tokens is read nowhere else: tokens that the clean prompt lacks.
TokenRow other_tokens(const std::vector<std::int64_t>& ids, int n_tokens) {
  std::vector<std::int64_t> unused;
  for (std::int64_t t = 1; t < n_tokens; ++t) {
    if (std::find(ids.begin(), ids.end(), t) == ids.end()) unused.push_back(t);
  }
  TokenRow row = {.ids = ids};
  for (std::size_t i = 1; i < ids.size(); ++i) row.ids[i] = unused[i % unused.size()];
  return row;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The previous-token head speaks to the keys of the induction head, and to nothing else.
TEST(KnownPaths, TheInductionCircuitComposesThroughKeys) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = load(known_induction_model(), dtype);
    const int n_tokens = model.config().d_vocab;
    const std::vector<std::int64_t> ids = known_induction_prompt();
    std::vector<SweepPrompt> prompts;
    for (int row = kKnownFirstRow; row <= kKnownLastRow; ++row) {
      SweepPrompt prompt = {.row = {.ids = ids}, .donors = {other_tokens(ids, n_tokens)}};
      const std::int64_t next = ids[static_cast<std::size_t>(row) + 1];
      prompt.target = {.at = {row}, .answers = {next}};
      for (std::int64_t t = 1; t < n_tokens; ++t) {
        if (t != next) prompt.target.wrongs.push_back(t);
      }
      prompts.push_back(std::move(prompt));
    }
    const auto effect = [&](ReceiverKind kind, int receiver) {
      const int layer = kind == ReceiverKind::logits ? -1 : 1;
      return path_effects(model, {head(0, 0)}, {to(kind, layer, receiver)}, prompts, {}).effects;
    };
    const Cell patched = {"0.0",
                          {{.hook = {Site::z, 0},
                            .operation = Operation::set,
                            .source = ValueSource::donor,
                            .heads = {0}}}};
    const SweepResult total = run_sweep(model, {patched}, prompts, {.verify = 0});
    const double allowed = dtype == DType::f64 ? 1e-12 : 1e-5;
    EXPECT_NEAR(mean(total.effects), KnownInductionTruth{}.heads[0].ablation_effect, 2e-3);
    EXPECT_NEAR(mean(effect(ReceiverKind::k, 0)), mean(total.effects), allowed);
    for (const ReceiverKind kind : {ReceiverKind::q, ReceiverKind::v, ReceiverKind::logits}) {
      for (const double value : effect(kind, 0)) EXPECT_NEAR(value, 0, allowed);
    }
    for (const double value : effect(ReceiverKind::k, 1)) EXPECT_NEAR(value, 0, allowed);
  }
}

// Every edge between heads and to the logits of the linear model is a product of weights.
TEST(KnownPaths, LinearEdgesByHand) {
  const Model model = load(known_linear_model());
  const std::vector<SweepPrompt> prompts = {{.row = {.ids = known_linear_prompt(0)},
                                             .donors = {{.ids = known_linear_prompt(1)}},
                                             .target = {.answers = {0}, .wrongs = {1}}}};
  int edges = 0;
  for (const LinearEdge& edge : kLinearEdges) {
    if (edge.from < 0) continue;
    const ReceiverId receiver =
        edge.to < 0 ? to(ReceiverKind::logits) : to(ReceiverKind::v, edge.to / 2, edge.to % 2);
    const PathEffects result =
        path_effects(model, {head(edge.from / 2, edge.from % 2)}, {receiver}, prompts, {});
    EXPECT_EQ(result.baseline[0], kLinearGain);
    // From (1, 0) to (0, 1) the difference of the coordinates falls by 2.
    EXPECT_EQ(result.effects[0], -2 * edge.gain) << edge.from << " → " << edge.to;
    ++edges;
  }
  EXPECT_EQ(edges, 8);
}

// Without a final norm the logits are a sum over heads: what a sender adds to them directly is the
// difference of its attributions in the two runs.
TEST(KnownPaths, ToLogitsIsTheDifferenceOfAttributions) {
  VariedSizes sizes;
  sizes.clusters = 3;
  sizes.prompts_per_cluster = 1;
  const Model model = load(varied_induction_model(sizes));
  const std::vector<VariedPrompt> varied = varied_induction_prompts(sizes);
  std::vector<UnitSet> senders;
  for (const VariedTruth& truth : kVariedTruth) {
    senders.push_back(head(truth.head.layer, truth.head.head));
  }
  int moved = 0;
  for (const VariedPrompt& prompt : varied) {
    for (std::size_t s = 0; s < senders.size(); ++s) {
      const auto attribution = [&](const std::vector<std::int64_t>& ids) {
        const LogitDirection direction = {.columns = {prompt.answer, prompt.wrong},
                                          .weights = {1, -1}};
        const Attribution parts = attribute_logits(
            model, {.row = {.ids = ids}, .positions = {-1}, .directions = {direction}});
        return parts.heads[senders[s][0].layer][senders[s][0].index][0].item<double>();
      };
      std::vector<double> effects;
      try {
        effects = path_effects(model, {senders[s]}, {to(ReceiverKind::logits)},
                               {{.row = {.ids = prompt.clean},
                                 .donors = {{.ids = prompt.corrupt}},
                                 .target = {.answers = {prompt.answer}, .wrongs = {prompt.wrong}}}},
                               {.mlps = FrozenMlps::on})
                      .effects;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), "PT10");  // heads without values
        EXPECT_EQ(attribution(prompt.corrupt), attribution(prompt.clean));
        continue;
      }
      const double expected = attribution(prompt.corrupt) - attribution(prompt.clean);
      EXPECT_NEAR(effects[0], expected, 1e-12) << unit_set_name(senders[s]);
      if (std::abs(expected) > 1e-3) ++moved;
    }
  }
  EXPECT_GE(moved, 6);
}

TEST(Paths, SendersThatSayNothingNewAreErrors) {
  const Model model = fixture_model("llama");
  const std::vector<SweepPrompt> same = {
      {.row = sample_row(8), .donors = {sample_row(8)}, .target = {.answers = {5}, .wrongs = {7}}}};
  std::vector<SweepPrompt> other = same;
  other[0].donors = {sample_row(8, 2)};
  const auto run = [&](const std::vector<SweepPrompt>& prompts, const UnitSet& sender,
                       const std::vector<ReceiverId>& receivers) {
    return code_of([&] { path_effects(model, {sender}, receivers, prompts, {}); });
  };
  EXPECT_EQ(run(same, head(0, 0), {to(ReceiverKind::logits)}), "PT10");
  EXPECT_EQ(run(same, mlp(0), {to(ReceiverKind::q, 1, 0)}), "PT10");
  EXPECT_EQ(run(other, head(0, 0), {to(ReceiverKind::logits)}), "");
  EXPECT_EQ(run(other, head(0, 0), {to(ReceiverKind::logits), to(ReceiverKind::q, 1, 0)}), "PT11");
  EXPECT_EQ(run(other, head(1, 0), {to(ReceiverKind::q, 1, 0)}), "PT12");
  EXPECT_EQ(run(other, mlp(1), {to(ReceiverKind::mlp, 1)}), "PT12");
  EXPECT_EQ(run(other, head(1, 0), {to(ReceiverKind::mlp, 1)}), "");
}

Intervention set_to(HookId hook, const at::Tensor& value, std::vector<int> heads = {},
                    std::vector<int> at = {}) {
  return {.hook = hook,
          .operation = Operation::set,
          .heads = std::move(heads),
          .q_positions = std::move(at),
          .value = value};
}

// The four passes from their definition (Wang et al. 2022, appendix B), one run C for each
// receiver's input, in which only what lies before that input is held.
class SlowPath {
 public:
  SlowPath(const Model& model, const TokenRow& row, const TokenRow& donor, FrozenMlps mlps)
      : model_(model), mlps_(mlps), batch_(make_batch({row})) {
    const std::vector<HookId>& hooks = model.sites().hooks;
    a_ = run_and_record(model, make_batch({donor}), hooks).values;
    b_ = run_and_record(model, batch_, hooks).values;
  }

  // logit 5 − logit 7 at the last position, less that of the untouched run.
  double effect(const UnitSet& sender, const std::vector<ReceiverId>& receivers) const {
    Taps patch;
    for (const ReceiverId& receiver : receivers) {
      for (const HookId hook : inputs_of(receiver)) {
        const at::Tensor input = input_in_c(sender, hook);
        if (receiver.kind == ReceiverKind::mlp) {
          patch.interventions.push_back(set_to(hook, input));
        } else {
          patch.interventions.push_back(
              set_to(hook, input.narrow(2, receiver.index, 1), {receiver.index}));
        }
      }
    }
    return metric(patch) - metric({});
  }
  double effect_on_logits(const UnitSet& sender) const {
    return metric(frozen(sender, {Site::logits, model_.config().n_layers})) - metric({});
  }

 private:
  std::vector<HookId> inputs_of(const ReceiverId& receiver) const {
    switch (receiver.kind) {
      case ReceiverKind::q:
        return {{Site::q, receiver.layer}};
      case ReceiverKind::k:
        return {{Site::k, receiver.layer}};
      case ReceiverKind::v:
        return {{Site::v, receiver.layer}};
      default:
        break;
    }
    std::vector<HookId> hooks = {{Site::mlp_pre, receiver.layer}};
    if (model_.config().mlp == MlpKind::gated) {
      hooks.push_back({Site::mlp_pre_linear, receiver.layer});
    }
    return hooks;
  }

  // Heads (by their q, k and v) and, frozen, MLPs before `end` as in B; the sender as in A.
  Taps frozen(const UnitSet& sender, HookId end) const {
    Taps taps;
    const bool has_mlp = model_.config().mlp != MlpKind::none;
    for (int l = 0; l < model_.config().n_layers; ++l) {
      const bool own = l == end.layer && end.site >= Site::mlp_pre;
      if (l > end.layer || (l == end.layer && !own)) break;
      for (const Site site : {Site::q, Site::k, Site::v}) {
        taps.interventions.push_back(set_to({site, l}, b_.at({site, l})));
      }
      if (mlps_ == FrozenMlps::on && has_mlp && l < end.layer) {
        taps.interventions.push_back(set_to({Site::mlp_out, l}, b_.at({Site::mlp_out, l})));
      }
    }
    for (const UnitId& unit : sender) {
      const bool is_head = unit.kind == UnitKind::head;
      const HookId hook = {is_head ? Site::z : Site::mlp_out, unit.layer};
      const std::vector<int> at =
          unit.position < 0 ? std::vector<int>{} : std::vector<int>{unit.position};
      at::Tensor value = a_.at(hook);
      if (unit.position >= 0) value = value.narrow(1, unit.position, 1);
      if (is_head) value = value.narrow(2, unit.index, 1);
      taps.interventions.push_back(
          set_to(hook, value, is_head ? std::vector<int>{unit.index} : std::vector<int>{}, at));
    }
    return taps;
  }

  at::Tensor input_in_c(const UnitSet& sender, HookId hook) const {
    return run_and_record(model_, batch_, {hook}, frozen(sender, hook)).values.at(hook);
  }

  double metric(const Taps& taps) const {
    const at::Tensor last = run_and_record(model_, batch_, {}, taps).output[0][-1];
    return (last[5] - last[7]).item<double>();
  }

  const Model& model_;
  FrozenMlps mlps_;
  Batch batch_;
  std::map<HookId, at::Tensor> a_, b_;
};

// Families with few keys and values a query, windows, gated and parallel MLPs, norms behind.
class PathFamilies : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, PathFamilies,
                         ::testing::Values("gpt2", "gpt_neox", "llama", "mistral", "qwen3",
                                           "gemma2", "bert"));

TEST_P(PathFamilies, FourPassesWrittenOut) {
  const Model model = fixture_model(GetParam());
  const TokenRow row = sample_row(9, 1);
  const TokenRow donor = sample_row(9, 2);
  const std::vector<SweepPrompt> prompts = {
      {.row = row, .donors = {donor}, .target = {.answers = {5}, .wrongs = {7}}}};
  const std::vector<UnitSet> senders = {head(0, 0),
                                        head(0, 1, 4),
                                        mlp(0),
                                        mlp(0, 3),
                                        {head(0, 0)[0], head(0, 2)[0]},
                                        {head(0, 1, 8)[0], mlp(0, 8)[0]}};
  std::vector<std::vector<ReceiverId>> receivers = {
      {to(ReceiverKind::q, 1, 0)},
      {to(ReceiverKind::k, 1, 0)},
      {to(ReceiverKind::v, 1, 1)},
      {to(ReceiverKind::mlp, 1)},
      {to(ReceiverKind::q, 1, 0), to(ReceiverKind::q, 1, 1), to(ReceiverKind::k, 1, 1),
       to(ReceiverKind::mlp, 1)}};
  for (const FrozenMlps mlps : {FrozenMlps::off, FrozenMlps::on}) {
    const SlowPath slow(model, row, donor, mlps);
    double largest = 0;
    for (const std::vector<ReceiverId>& list : receivers) {
      const PathEffects fast = path_effects(model, senders, list, prompts, {.mlps = mlps});
      for (std::size_t s = 0; s < senders.size(); ++s) {
        const double expected = slow.effect(senders[s], list);
        EXPECT_NEAR(fast.effects[s], expected, 1e-12)
            << unit_set_name(senders[s]) << " → " << receiver_name(list[0]);
        largest = std::max(largest, std::abs(expected));
      }
    }
    EXPECT_GT(largest, 1e-3) << "paths that say nothing prove nothing";
    const PathEffects logits =
        path_effects(model, senders, {to(ReceiverKind::logits)}, prompts, {.mlps = mlps});
    for (std::size_t s = 0; s < senders.size(); ++s) {
      EXPECT_NEAR(logits.effects[s], slow.effect_on_logits(senders[s]), 1e-12)
          << unit_set_name(senders[s]) << " → logits";
    }
  }
}

// Prompts of several lengths together are what they are alone.
TEST(Paths, PromptsDoNotMix) {
  const Model model = fixture_model("qwen3");
  std::vector<SweepPrompt> prompts;
  for (int p = 0; p < 20; ++p) {
    const int length = 6 + p % 3;
    prompts.push_back({.row = sample_row(length, p + 1),
                       .donors = {sample_row(length, p + 40)},
                       .target = {.at = {-1 - p % 2}, .answers = {5}, .wrongs = {7}}});
  }
  const std::vector<UnitSet> senders = {head(0, 0), mlp(0)};
  const std::vector<ReceiverId> receivers = {to(ReceiverKind::q, 1, 0), to(ReceiverKind::v, 1, 1)};
  const PathEffects all = path_effects(model, senders, receivers, prompts, {});
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const PathEffects one = path_effects(model, senders, receivers, {prompts[p]}, {});
    EXPECT_NEAR(all.baseline[p], one.baseline[0], 1e-12);
    for (std::size_t s = 0; s < senders.size(); ++s) {
      EXPECT_NEAR(all.effects[s * prompts.size() + p], one.effects[s], 1e-12);
      EXPECT_NE(one.effects[s], 0);
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
