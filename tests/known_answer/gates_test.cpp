// Gates, worlds and the linear model: patching shows what the truth tables and closed forms say.
#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/probes/known_answer_gates.h"
#include "attnscope/probes/known_answer_worlds.h"
#include "known_run.h"

namespace attnscope::testing {
namespace {

double logit(const Model& model, const std::vector<std::int64_t>& ids, std::int64_t column,
             const std::vector<Intervention>& interventions = {}) {
  Taps taps;
  taps.interventions = interventions;
  RunOptions options{.engine = Engine::reference};
  options.logits = {.at = LogitsAt::last, .columns = {column}};
  return model.run(make_batch({{.ids = ids}}), taps, options).logits.item<double>();
}

// z of the given heads of layer 0, from a run of (other, other).
std::vector<Intervention> heads_from(const Model& model, int other, const std::vector<int>& heads) {
  const HookId z{Site::z, 0};
  const at::Tensor donor = record(model, known_gate_prompt(other, other), {z}).at(z)[0];
  std::vector<Intervention> changes;
  for (const int head : heads) {
    changes.push_back({.hook = z,
                       .operation = Operation::set,
                       .heads = {head},
                       .value = donor.narrow(1, head, 1)});
  }
  return changes;
}

TEST(KnownGates, AllInputs) {
  const Model either = load_known(known_gate_model(Gate::or_gate));
  const Model both = load_known(known_gate_model(Gate::and_gate));
  for (const int a : {0, 1}) {
    for (const int b : {0, 1}) {
      EXPECT_EQ(logit(either, known_gate_prompt(a, b), kGateAnswer), a || b ? 1 : 0);
      EXPECT_EQ(logit(both, known_gate_prompt(a, b), kGateAnswer), a && b ? 1 : 0);
    }
  }
}

TEST(KnownGates, TruthTableOfPatching) {
  for (const GateTruth& truth : kGateTruth) {
    const Model model = load_known(known_gate_model(truth.gate));
    const auto effect = [&](int run, const std::vector<int>& heads) {
      const auto ids = known_gate_prompt(run, run);
      return std::abs(logit(model, ids, kGateAnswer, heads_from(model, 1 - run, heads)) -
                      logit(model, ids, kGateAnswer));
    };
    for (const int head : {0, 1}) {
      EXPECT_EQ(effect(1, {head}), truth.noise_one);
      EXPECT_EQ(effect(0, {head}), truth.denoise_one);
    }
    EXPECT_EQ(effect(1, {0, 1}), truth.noise_both);
    EXPECT_EQ(effect(0, {0, 1}), truth.denoise_both);
  }
}

TEST(KnownWorlds, OutputIsTheWeightedSum) {
  for (const AttentionWorld& world :
       {world_of_equal_values(), world_of_distinct_values(), world_of_a_sink()}) {
    const Model model = load_known(known_world_model(world));
    const HookId pattern{Site::pattern, 0};
    const auto ids = known_world_prompt(world);
    const at::Tensor map = record(model, ids, {pattern}).at(pattern)[0][0];
    for (std::size_t j = 0; j < ids.size(); ++j) {
      EXPECT_NEAR(map[-1][static_cast<std::int64_t>(j)].item<double>(), world.weights[j], 1e-15);
    }
    EXPECT_NEAR(logit(model, ids, kWorldLabel), world_output(world), 1e-14);
  }
}

// The two ways to cut an edge are different things, and both have a closed form.
TEST(KnownWorlds, CutEdges) {
  for (const AttentionWorld& world :
       {world_of_equal_values(), world_of_distinct_values(), world_of_a_sink()}) {
    const Model model = load_known(known_world_model(world));
    const auto ids = known_world_prompt(world);
    const double base = logit(model, ids, kWorldLabel);
    const int last = static_cast<int>(ids.size()) - 1;
    for (int j = 0; j <= last; ++j) {
      const Intervention knockout = {.hook = {Site::attn_scores, 0},
                                     .operation = Operation::minus_infinity,
                                     .q_positions = {last},
                                     .k_positions = {j}};
      Intervention zero = knockout;
      zero.hook.site = Site::pattern;
      zero.operation = Operation::zero;
      EXPECT_NEAR(logit(model, ids, kWorldLabel, {knockout}) - base, world_knockout(world, j),
                  1e-13);
      EXPECT_NEAR(logit(model, ids, kWorldLabel, {zero}) - base, world_value_zero(world, j), 1e-13);
    }
  }
}

TEST(KnownWorlds, TheirPoints) {
  const AttentionWorld equal = world_of_equal_values();
  for (int j = 0; j < 4; ++j) EXPECT_NEAR(world_knockout(equal, j), 0, 1e-15);
  const AttentionWorld sink = world_of_a_sink();
  EXPECT_EQ(world_value_zero(sink, 0), 0);
  EXPECT_NEAR(world_output(sink) + world_knockout(sink, 0), 10 * world_output(sink), 1e-12);
  EXPECT_ANY_THROW(known_world_model({.weights = {0.5, 0.4}, .values = {1, 2}}));
  EXPECT_ANY_THROW(known_world_model({.weights = {1.0, 0.0}, .values = {1, 2}}));
}

TEST(KnownLinear, OutputIsTheInputTimes32) {
  const Model model = load_known(known_linear_model());
  const double expected[4][2] = {{1, 0}, {0, 1}, {1, 1}, {2, -1}};
  for (int token = 0; token < 4; ++token) {
    for (const int c : {0, 1}) {
      EXPECT_EQ(logit(model, known_linear_prompt(token), c), kLinearGain * expected[token][c]);
    }
  }
}

// What one head's input is changed by, and nothing else: q, k and v of that head come from a stream
// to which the sender's corrupt output is added. Only v counts, since a token attends to itself.
TEST(KnownLinear, EveryEdgeByPatching) {
  const Model model = load_known(known_linear_model());
  const auto clean_ids = known_linear_prompt(0);
  const auto corrupt_ids = known_linear_prompt(1);
  const std::vector<HookId> hooks = {{Site::resid_pre, 0}, {Site::result, 0},
                                     {Site::result, 1},    {Site::v, 0},
                                     {Site::v, 1},         {Site::resid_post, 1}};
  const auto clean = record(model, clean_ids, hooks);
  const auto corrupt = record(model, corrupt_ids, hooks);
  const auto written = [&](const std::map<HookId, at::Tensor>& run, int from) {
    if (from < 0) return run.at({Site::resid_pre, 0})[0];
    return run.at({Site::result, from / 2})[0].select(1, from % 2);
  };
  const auto metric = [](const std::vector<double>& logits) { return logits[0] - logits[1]; };
  const auto run = [&](const std::vector<Intervention>& changes) {
    return metric({logit(model, clean_ids, 0, changes), logit(model, clean_ids, 1, changes)});
  };
  const double base = run({});
  const double weights[] = {1, 2, 3, 4};
  std::map<int, double> leaving;
  for (const LinearEdge& edge : kLinearEdges) {
    const at::Tensor change = written(corrupt, edge.from) - written(clean, edge.from);  // [1 m]
    Intervention patch;
    if (edge.to < 0) {
      patch = {.hook = {Site::resid_post, 1}, .operation = Operation::add, .value = change};
    } else {
      patch = {.hook = {Site::v, edge.to / 2},
               .operation = Operation::add,
               .heads = {edge.to % 2},
               .value = (change * weights[edge.to]).unsqueeze(1)};
    }
    // From (1, 0) to (0, 1) the input's difference of coordinates falls by 2.
    EXPECT_EQ(run({patch}) - base, -2 * edge.gain) << edge.from << " → " << edge.to;
    leaving[edge.from] += edge.gain;
  }
  EXPECT_EQ(leaving[-1], kLinearGain);
  EXPECT_EQ(leaving[0] + leaving[1] + 1 + 3 + 4, kLinearGain);
}

}  // namespace
}  // namespace attnscope::testing
