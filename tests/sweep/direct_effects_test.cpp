// Direct effects of cells against whole runs in which every later part keeps its clean value and
// every norm its clean scale, on every family.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "attnscope/probes/direct_effects.h"
#include "attnscope/support/error.h"
#include "attribution/frozen_run.h"
#include "testing/error_code.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

class DirectEffectsOf : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, DirectEffectsOf, ::testing::ValuesIn(fixture_families()));

Edit edit_of(HookId hook, Operation operation, std::vector<int> heads, std::vector<int> at) {
  return {.hook = hook,
          .operation = operation,
          .source = operation == Operation::set ? ValueSource::donor : ValueSource::none,
          .heads = std::move(heads),
          .q_positions = std::move(at)};
}

double difference(const at::Tensor& outputs, int at) {
  const std::int64_t q = at < 0 ? outputs.size(0) + at : at;
  return (outputs[q][5] - outputs[q][7]).item<double>();
}

// What one edit makes of the part it belongs to, and the effect of that with all else frozen.
class Frozen {
 public:
  Frozen(const Model& model, const SweepPrompt& prompt)
      : model_(model), clean_(model, prompt.row), donor_(model, prompt.donors[0]) {}

  double effect(const Edit& edit, int at) const {
    const bool attention = edit.hook.site == Site::z || edit.hook.site == Site::attn_out;
    const HookId part = {attention ? Site::attn_out : Site::mlp_out, edit.hook.layer};
    return difference(frozen_outputs(clean_, part, changed(edit, part)), at) -
           difference(clean_.outcome.output[0], at);
  }

 private:
  at::Tensor changed(const Edit& edit, HookId part) const {
    if (edit.hook.site == Site::z && model_.config().placement == NormPlacement::sandwich) {
      return attn_out_without(clean_, part.layer, removed_results(edit));
    }
    Intervention change = {.hook = edit.hook,
                           .operation = edit.operation,
                           .heads = edit.heads,
                           .q_positions = edit.q_positions};
    if (edit.operation == Operation::set) {
      change.value = donor_.value(edit.hook.site, edit.hook.layer);
      if (!edit.q_positions.empty()) change.value = change.value.narrow(1, edit.q_positions[0], 1);
      if (!edit.heads.empty()) {
        change.value =
            change.value.narrow(2, edit.heads[0], static_cast<std::int64_t>(edit.heads.size()));
      }
    }
    Taps taps;
    taps.interventions = {change};
    return run_and_record(model_, clean_.batch, {part}, taps).values.at(part);
  }

  // What the heads' results lose, [1 q m].
  at::Tensor removed_results(const Edit& edit) const {
    const int layer = edit.hook.layer;
    at::Tensor lost = clean_.value(Site::result, layer).clone();
    if (edit.operation == Operation::set) lost = lost - donor_.value(Site::result, layer);
    at::Tensor sum = at::zeros_like(clean_.value(Site::attn_out, layer));
    for (const int head : edit.heads) sum = sum + lost.select(2, head);
    if (edit.q_positions.empty()) return sum;
    at::Tensor there = at::zeros_like(sum);
    for (const int q : edit.q_positions) there.select(1, q).copy_(sum.select(1, q));
    return there;
  }

  const Model& model_;
  CleanRun clean_;
  CleanRun donor_;
};

TEST_P(DirectEffectsOf, HeadsAndMlps) {
  const Model model = fixture_model(GetParam());
  const bool sandwich = model.config().placement == NormPlacement::sandwich;
  std::vector<SweepPrompt> prompts;
  for (const auto& [length, at] : std::vector<std::pair<int, int>>{{7, -1}, {9, 4}, {7, 6}}) {
    SweepPrompt prompt = {.row = sample_row(length, at + 3),
                          .donors = {sample_row(length, 50)},
                          .target = {.answers = {5}, .wrongs = {7}}};
    if (at >= 0) prompt.target.at = {at};
    prompts.push_back(std::move(prompt));
  }
  std::vector<Cell> cells;
  for (int l = 0; l < model.config().n_layers; ++l) {
    const auto add = [&](Site site, Operation operation, std::vector<int> heads,
                         std::vector<int> at) {
      cells.push_back({std::to_string(l) + " " + site_info(site).short_name,
                       {edit_of({site, l}, operation, std::move(heads), std::move(at))}});
    };
    add(Site::z, Operation::zero, {0}, {});
    add(Site::z, Operation::zero, {1, 2}, {});
    add(Site::z, Operation::set, {1}, {});
    add(Site::z, Operation::set, {2}, {4});
    add(Site::attn_out, Operation::zero, {}, {});
    add(Site::attn_out, Operation::set, {}, {6});
    add(Site::mlp_out, Operation::zero, {}, {});
    add(Site::mlp_out, Operation::set, {}, {4});
    if (!sandwich) add(Site::mlp_post, Operation::set, {3}, {});
  }
  const DirectEffects direct = direct_effects(model, cells, prompts, {});
  ASSERT_EQ(direct.effects.size(), cells.size() * prompts.size());
  int moved = 0;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const Frozen frozen(model, prompts[p]);
    const int at = prompts[p].target.at.empty() ? -1 : prompts[p].target.at[0];
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const double expected = frozen.effect(cells[c].edits[0], at);
      EXPECT_NEAR(direct.effects[c * prompts.size() + p], expected, 1e-11)
          << cells[c].name << ", prompt " << p;
      moved += std::abs(expected) > 1e-4 ? 1 : 0;
    }
  }
  EXPECT_GT(moved, static_cast<int>(cells.size()));
}

TEST_P(DirectEffectsOf, InertCellsHaveNone) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = fixture_model(GetParam(), dtype);
    std::vector<SweepPrompt> prompts;
    for (const int length : {5, 8, 8, 19}) {
      prompts.push_back(
          {.row = sample_row(length, length), .target = {.answers = {5}, .wrongs = {7}}});
    }
    std::vector<Cell> cells;
    for (int l = 0; l < model.config().n_layers; ++l) {
      for (const Site site : {Site::z, Site::attn_out, Site::mlp_out, Site::mlp_post}) {
        cells.push_back({site_info(site).short_name,
                         {{.hook = {site, l}, .operation = Operation::scale, .factor = 1}}});
      }
    }
    const DirectEffects direct = direct_effects(model, cells, prompts, {});
    for (std::size_t i = 0; i < direct.effects.size(); ++i) {
      EXPECT_EQ(direct.effects[i], 0) << cells[i / prompts.size()].name;
    }
  }
}

// Parts of several layers add up where only the final norm lies behind them.
TEST(DirectEffectsOf, SeveralLayers) {
  const std::vector<SweepPrompt> prompts = {
      {.row = sample_row(8), .target = {.answers = {5}, .wrongs = {7}}}};
  const std::vector<Cell> cells = {
      {"0.1", {{.hook = {Site::z, 0}, .heads = {1}}}},
      {"mlp:1", {{.hook = {Site::mlp_out, 1}}}},
      {"0.1+mlp:1", {{.hook = {Site::z, 0}, .heads = {1}}, {.hook = {Site::mlp_out, 1}}}}};
  for (const std::string family : {"llama", "gpt2", "gpt_neox"}) {
    const Model model = fixture_model(family);
    const std::vector<double> effects = direct_effects(model, cells, prompts, {}).effects;
    EXPECT_NEAR(effects[2], effects[0] + effects[1], 1e-12) << family;
  }
  const Model post = fixture_model("bert");
  EXPECT_EQ(code_of([&] { direct_effects(post, cells, prompts, {}); }), "SW30");
}

TEST(DirectEffectsOf, WhatHasNone) {
  const Model model = fixture_model("llama");
  std::vector<SweepPrompt> prompts = {
      {.row = sample_row(8), .target = {.answers = {5}, .wrongs = {7}}}};
  const std::vector<Cell> head = {{"0.1", {{.hook = {Site::z, 0}, .heads = {1}}}}};
  const std::vector<Cell> stream = {{"resid", {{.hook = {Site::resid_pre, 0}}}}};
  EXPECT_EQ(code_of([&] { direct_effects(model, stream, prompts, {}); }), "SW30");
  EXPECT_EQ(code_of([&] { direct_effects(model, head, prompts, {.metric = MetricChoice::loss}); }),
            "SW30");
  prompts[0].target.at = {3, 5};
  EXPECT_EQ(code_of([&] { direct_effects(model, head, prompts, {}); }), "SW30");
}

}  // namespace
}  // namespace attnscope::testing
