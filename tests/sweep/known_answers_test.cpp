// The sweep, direct effects and their sums against models whose every effect is known.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "attnscope/probes/direct_effects.h"
#include "attnscope/probes/known_answer.h"
#include "attnscope/probes/known_answer_gates.h"
#include "attnscope/probes/known_answer_varied.h"
#include "attnscope/probes/known_answer_worlds.h"
#include "attnscope/probes/sweep.h"

namespace attnscope::testing {
namespace {

Model load(const Checkpoint& checkpoint, DType dtype) {
  Warnings warnings;
  return Model::load(checkpoint, {.dtype = dtype}, warnings);
}

Cell zero_heads(const std::vector<std::pair<int, int>>& heads) {
  Cell cell;
  for (const auto& [layer, head] : heads) {
    cell.name += std::to_string(layer) + "." + std::to_string(head) + " ";
    cell.edits.push_back({.hook = {Site::z, layer}, .heads = {head}});
  }
  return cell;
}

// The metric of the induction fixtures, logit(next) − mean logit of the other tokens but BOS over
// the rows where the next token can be known, as one prompt a row.
std::vector<SweepPrompt> induction_prompts(int n_tokens) {
  const std::vector<std::int64_t> ids = known_induction_prompt();
  std::vector<SweepPrompt> prompts;
  for (int row = kKnownFirstRow; row <= kKnownLastRow; ++row) {
    SweepPrompt prompt = {.row = {.ids = ids}};
    const std::int64_t next = ids[static_cast<std::size_t>(row) + 1];
    prompt.target = {.at = {row}, .answers = {next}};
    for (std::int64_t token = 1; token < n_tokens; ++token) {
      if (token != next) prompt.target.wrongs.push_back(token);
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

double mean(const std::vector<double>& effects, std::size_t cell, std::size_t n_prompts) {
  double sum = 0;
  for (std::size_t p = 0; p < n_prompts; ++p) sum += effects[cell * n_prompts + p];
  return sum / static_cast<double>(n_prompts);
}

double average(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

constexpr SweepMode kModes[] = {SweepMode::fast, SweepMode::exact, SweepMode::naive};

TEST(KnownSweep, Induction) {
  const KnownInductionTruth truth;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = load(known_induction_model(), dtype);
    const std::vector<SweepPrompt> prompts = induction_prompts(model.config().d_vocab);
    std::vector<Cell> cells;
    for (const KnownHead& head : truth.heads)
      cells.push_back(zero_heads({{head.layer, head.head}}));
    for (const SweepMode mode : kModes) {
      const SweepResult result = run_sweep(model, cells, prompts, {.mode = mode});
      EXPECT_NEAR(average(result.baseline), truth.metric, 6e-7);
      for (std::size_t h = 0; h < cells.size(); ++h) {
        const double got = mean(result.effects, h, prompts.size());
        const double expected = truth.heads[h].ablation_effect;
        if (expected == 0) {
          for (std::size_t p = 0; p < prompts.size(); ++p) {
            EXPECT_EQ(result.effect(static_cast<std::int64_t>(h), static_cast<std::int64_t>(p)), 0)
                << cells[h].name;
          }
        } else {
          EXPECT_NEAR(got, expected, dtype == DType::f64 ? 6e-7 : 5e-6) << cells[h].name;
        }
      }
    }
  }
}

// Attention ranks the decoy first; the quiet head does everything.
TEST(KnownSweep, QuietHead) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = load(known_quiet_model(), dtype);
    std::vector<std::int64_t> ids(16);
    std::iota(ids.begin(), ids.end(), 0);
    SweepPrompt prompt = {.row = {.ids = ids}, .target = {.answers = {3}}};
    const SweepResult result =
        run_sweep(model, {zero_heads({{0, 0}}), zero_heads({{0, 1}})}, {prompt}, {});
    EXPECT_NEAR(result.baseline[0], 60.0 / 16, 1e-6);
    EXPECT_EQ(result.effect(0, 0), 0);
    EXPECT_NEAR(result.effect(1, 0), -60.0 / 16, 1e-6);
  }
}

TEST(KnownSweep, BackupHead) {
  const KnownBackupTruth truth;
  const Model model = load(known_backup_model(), DType::f64);
  const std::vector<SweepPrompt> prompts = induction_prompts(model.config().d_vocab);
  const std::vector<Cell> cells = {zero_heads({{0, 0}}),         zero_heads({{1, 0}}),
                                   zero_heads({{2, 0}}),         zero_heads({{1, 0}, {2, 0}}),
                                   zero_heads({{0, 0}, {1, 0}}), zero_heads({{0, 0}, {2, 0}})};
  const SweepResult total = run_sweep(model, cells, prompts, {});
  const auto effect = [&](std::size_t cell) { return mean(total.effects, cell, prompts.size()); };
  constexpr double kPrinted = 0.6e-9;
  EXPECT_NEAR(average(total.baseline), truth.metric, kPrinted);
  EXPECT_NEAR(effect(0), truth.previous_removed, kPrinted);
  EXPECT_NEAR(effect(1), truth.main_removed, kPrinted);
  EXPECT_NEAR(effect(2), truth.backup_removed, kPrinted);
  EXPECT_NEAR(effect(3), truth.both_removed, kPrinted);
  // Synergy: each alone hides what both do together.
  EXPECT_NEAR(effect(3) - effect(1) - effect(2), -5, 1e-3);
  // One left in is not enough: each of the two needs the previous-token head.
  EXPECT_NEAR(effect(4), -truth.metric, 1e-3);
  EXPECT_NEAR(effect(5), -truth.metric, 1e-3);
  EXPECT_NEAR(effect(3), -truth.metric, 1e-3);
  // What the backup does once the main head is gone.
  EXPECT_NEAR(effect(3) - effect(1), -5, 1e-3);

  const DirectEffects direct = direct_effects(model, cells, prompts, {});
  // Nothing behind a head answers: the main head has all of its effect, the previous-token head,
  // which writes no logits, none.
  EXPECT_EQ(mean(direct.effects, 0, prompts.size()), 0);
  EXPECT_NEAR(mean(direct.effects, 1, prompts.size()), truth.main_direct, kPrinted);
  EXPECT_NEAR(mean(direct.effects, 2, prompts.size()), truth.backup_removed, kPrinted);
  EXPECT_NEAR(mean(direct.effects, 3, prompts.size()), truth.main_direct + truth.backup_removed,
              2 * kPrinted);
  // Self-repair: what the direct effect says is lost and the total effect does not show.
  EXPECT_NEAR(effect(1) - mean(direct.effects, 1, prompts.size()), 5, 1e-3);
}

// Noising and denoising see different gates.
TEST(KnownSweep, TruthTableOfGates) {
  for (const GateTruth& truth : kGateTruth) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Model model = load(known_gate_model(truth.gate), dtype);
      const auto cell = [](std::vector<int> heads) {
        return Cell{"heads",
                    {{.hook = {Site::z, 0},
                      .operation = Operation::set,
                      .source = ValueSource::donor,
                      .heads = std::move(heads)}}};
      };
      const auto prompt = [](int run) {
        return SweepPrompt{.row = {.ids = known_gate_prompt(run, run)},
                           .donors = {{.ids = known_gate_prompt(1 - run, 1 - run)}},
                           .target = {.answers = {kGateAnswer}}};
      };
      const SweepResult result =
          run_sweep(model, {cell({0}), cell({1}), cell({0, 1})}, {prompt(1), prompt(0)}, {});
      EXPECT_EQ(result.baseline, (std::vector<double>{1, 0}));
      EXPECT_EQ(result.donor_baseline, (std::vector<double>{0, 1}));
      for (const int head : {0, 1}) {
        EXPECT_EQ(result.effect(head, 0), -truth.noise_one);
        EXPECT_EQ(result.effect(head, 1), truth.denoise_one);
      }
      EXPECT_EQ(result.effect(2, 0), -truth.noise_both);
      EXPECT_EQ(result.effect(2, 1), truth.denoise_both);
    }
  }
}

// Cutting an edge and silencing the value on it are different things, each with a closed form.
TEST(KnownSweep, WorldsOfAttention) {
  for (const AttentionWorld& world :
       {world_of_equal_values(), world_of_distinct_values(), world_of_a_sink()}) {
    const Model model = load(known_world_model(world), DType::f64);
    const auto n = static_cast<int>(world.weights.size());
    std::vector<Cell> cells;
    for (int j = 0; j < n; ++j) {
      Edit edit = {.hook = {Site::attn_scores, 0},
                   .operation = Operation::minus_infinity,
                   .q_positions = {n - 1},
                   .k_positions = {j}};
      cells.push_back({"knockout", {edit}});
      edit.hook.site = Site::pattern;
      edit.operation = Operation::zero;
      cells.push_back({"value zero", {edit}});
    }
    const SweepPrompt prompt = {.row = {.ids = known_world_prompt(world)},
                                .target = {.answers = {kWorldLabel}}};
    for (const SweepMode mode : kModes) {
      const SweepResult result = run_sweep(model, cells, {prompt}, {.mode = mode});
      EXPECT_NEAR(result.baseline[0], world_output(world), 1e-14);
      for (int j = 0; j < n; ++j) {
        EXPECT_NEAR(result.effect(2 * j, 0), world_knockout(world, j), 1e-13);
        EXPECT_NEAR(result.effect(2 * j + 1, 0), world_value_zero(world, j), 1e-13);
      }
    }
  }
}

TEST(KnownSweep, EqualValuesMakeEveryEdgeInertAndASinkLouder) {
  const AttentionWorld equal = world_of_equal_values();
  const AttentionWorld sink = world_of_a_sink();
  for (std::size_t j = 0; j < equal.weights.size(); ++j) {
    EXPECT_NEAR(world_knockout(equal, static_cast<int>(j)), 0, 1e-15);
  }
  EXPECT_EQ(world_value_zero(sink, 0), 0);
  EXPECT_NEAR(world_knockout(sink, 0), 9 * world_output(sink), 1e-12);
}

// Effects that differ by prompt, with the model's arithmetic redone in plain loops; every head
// alone, every pair, and all heads but one.
TEST(KnownSweep, VariedInduction) {
  VariedSizes sizes;
  sizes.clusters = 4;
  sizes.prompts_per_cluster = 2;
  const Model model = load(varied_induction_model(sizes), DType::f64);
  const std::vector<VariedPrompt> varied = varied_induction_prompts(sizes);
  std::vector<SweepPrompt> prompts;
  for (const VariedPrompt& prompt : varied) {
    prompts.push_back({.row = {.ids = prompt.clean},
                       .target = {.answers = {prompt.answer}, .wrongs = {prompt.wrong}}});
  }
  std::vector<Cell> cells;
  std::vector<std::vector<VariedHead>> removed;
  const auto add = [&](const std::vector<VariedHead>& heads) {
    std::vector<std::pair<int, int>> list;
    for (const VariedHead& head : heads) list.emplace_back(head.layer, head.head);
    cells.push_back(zero_heads(list));
    removed.push_back(heads);
  };
  for (std::size_t i = 0; i < kVariedTruth.size(); ++i) {
    add({kVariedTruth[i].head});
    std::vector<VariedHead> rest;
    for (std::size_t j = 0; j < kVariedTruth.size(); ++j) {
      if (j != i) rest.push_back(kVariedTruth[j].head);
      if (j > i) add({kVariedTruth[i].head, kVariedTruth[j].head});
    }
    add(rest);
  }
  const SweepResult result = run_sweep(model, cells, prompts, {});
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const double clean = varied_metric(sizes, varied[p].clean, varied[p], {});
    EXPECT_NEAR(result.baseline[p], clean, 1e-12);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      EXPECT_NEAR(result.effects[c * prompts.size() + p],
                  varied_metric(sizes, varied[p].clean, varied[p], removed[c]) - clean, 1e-12)
          << cells[c].name;
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
