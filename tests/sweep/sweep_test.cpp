// The fast sweep against the naive loop, cell by cell, on every family; exact mode bit by bit.
#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/core/device.h"
#include "attnscope/probes/known_answer.h"
#include "attnscope/probes/sweep.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

SweepPrompt prompt_of(int length, std::uint64_t seed) {
  SweepPrompt prompt = {.row = sample_row(length, seed),
                        .donors = {sample_row(length, seed + 100)},
                        .target = {.answers = {5}, .wrongs = {7}}};
  return prompt;
}

std::vector<SweepPrompt> prompts_of_unequal_length() {
  return {prompt_of(9, 1), prompt_of(12, 2), prompt_of(9, 3), prompt_of(4, 4)};
}

Edit donor_edit(Site site, int layer, std::vector<int> heads = {}, std::vector<int> at = {}) {
  return {.hook = {site, layer},
          .operation = Operation::set,
          .source = ValueSource::donor,
          .heads = std::move(heads),
          .q_positions = std::move(at)};
}

// One of everything that a sweep can do.
std::vector<Cell> cells_of(const Model& model) {
  std::vector<Cell> cells;
  const ModelConfig& config = model.config();
  for (int l = 0; l < config.n_layers; ++l) {
    const std::string layer = std::to_string(l);
    for (int h = 0; h < config.n_heads(l); ++h) {
      cells.push_back({layer + "." + std::to_string(h), {{.hook = {Site::z, l}, .heads = {h}}}});
    }
    cells.push_back({"kv", {{.hook = {Site::z, l}, .heads = {0, 1}}}});
    cells.push_back({"attn", {{.hook = {Site::attn_out, l}}}});
    cells.push_back({"donor z", {donor_edit(Site::z, l, {1})}});
    cells.push_back({"donor z at", {donor_edit(Site::z, l, {1}, {2})}});
    cells.push_back({"donor resid", {donor_edit(Site::resid_pre, l, {}, {3})}});
    cells.push_back({"donor resid 0", {donor_edit(Site::resid_pre, l, {}, {0})}});
    cells.push_back({"donor last", {donor_edit(Site::resid_pre, l, {}, {8})}});
    cells.push_back({"donor attn", {donor_edit(Site::attn_out, l, {}, {1})}});
    cells.push_back({"donor q", {donor_edit(Site::q, l, {0})}});
    cells.push_back({"donor q at", {donor_edit(Site::q, l, {0}, {3})}});
    cells.push_back({"donor k", {donor_edit(Site::k, l, {0})}});
    cells.push_back({"donor v at", {donor_edit(Site::v, l, {0}, {1})}});
    cells.push_back({"donor pattern", {donor_edit(Site::pattern, l, {1})}});
    cells.push_back({"donor pattern at", {donor_edit(Site::pattern, l, {1}, {3})}});
    cells.push_back({"knockout",
                     {{.hook = {Site::attn_scores, l},
                       .operation = Operation::minus_infinity,
                       .heads = {0},
                       .q_positions = {3},
                       .k_positions = {1}}}});
    cells.push_back(
        {"uniform", {{.hook = {Site::pattern, l}, .operation = Operation::uniform, .heads = {0}}}});
    cells.push_back({"noise",
                     {{.hook = {Site::z, l}, .heads = {0}},
                      {.hook = {Site::attn_out, l},
                       .operation = Operation::add,
                       .source = ValueSource::noise}}});
    if (config.mlp != MlpKind::none) {
      cells.push_back({"mlp", {{.hook = {Site::mlp_out, l}}}});
      cells.push_back({"mlp at", {donor_edit(Site::mlp_out, l, {}, {2})}});
      cells.push_back({"neuron", {{.hook = {Site::mlp_post, l}, .heads = {3}}}});
    }
  }
  cells.push_back(
      {"set", {{.hook = {Site::z, 0}, .heads = {0}}, {.hook = {Site::z, 1}, .heads = {1}}}});
  return cells;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    const double difference = std::abs(a[i] - b[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

class SweepTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, SweepTest, ::testing::ValuesIn(fixture_families()));

MetricChoice metric_of(const Model& model) {
  return model.config().head == HeadKind::none ? MetricChoice::embedding_shift
                                               : MetricChoice::logit_diff;
}

TEST_P(SweepTest, FastEqualsNaive) {
  const Model model = fixture_model(GetParam());
  const std::vector<Cell> cells = cells_of(model);
  const std::vector<SweepPrompt> prompts = prompts_of_unequal_length();
  SweepSettings settings = {.metric = metric_of(model), .verify = 0, .batch_tokens = 64};
  const SweepResult fast = run_sweep(model, cells, prompts, settings);
  EXPECT_EQ(fast.engine.find("one cell a run"), std::string::npos) << "nothing is compared";
  settings.mode = SweepMode::naive;
  const SweepResult naive = run_sweep(model, cells, prompts, settings);
  for (std::size_t i = 0; i < fast.effects.size(); ++i) {
    if (std::isnan(fast.effects[i]) && std::isnan(naive.effects[i])) continue;
    EXPECT_NEAR(fast.effects[i], naive.effects[i], 1e-12) << cells[i / prompts.size()].name;
  }
  EXPECT_LT(largest_difference(fast.effects, naive.effects), 1e-12);
  settings.mode = SweepMode::exact;
  const SweepResult exact = run_sweep(model, cells, prompts, settings);
  EXPECT_EQ(largest_difference(exact.effects, naive.effects), 0);
}

}  // namespace
}  // namespace attnscope::testing
