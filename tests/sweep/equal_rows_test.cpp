// Equal rows of a batch have equal bits, so that a cell that changes nothing has the effect 0; and
// neither threads nor the mode of a sweep change a bit that they must not change.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/probes/sweep.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

SweepPrompt prompt_of(int length, int seed) {
  return {.row = sample_row(length, seed),
          .donors = {sample_row(length, seed + 100)},
          .target = {.answers = {5}, .wrongs = {7}}};
}

MetricChoice metric_of(const Model& model) {
  return model.config().head == HeadKind::none ? MetricChoice::embedding_shift
                                               : MetricChoice::logit_diff;
}

Edit times_one(HookId hook, std::vector<int> heads = {}, std::vector<int> at = {}) {
  return {.hook = hook,
          .operation = Operation::scale,
          .heads = std::move(heads),
          .q_positions = std::move(at),
          .factor = 1};
}

// Cells that are made like any other and leave every value as it is, at every place where a sweep
// can enter.
std::vector<Cell> inert_cells(const Model& model, int shortest) {
  std::vector<Cell> cells;
  for (int l = 0; l < model.config().n_layers; ++l) {
    for (int h = 0; h < model.config().n_heads(l); ++h) {
      cells.push_back({"z", {times_one({Site::z, l}, {h})}});
      cells.push_back({"z at", {times_one({Site::z, l}, {h}, {h % shortest})}});
    }
    for (int p = 0; p < shortest; ++p) {
      cells.push_back({"resid_pre at", {times_one({Site::resid_pre, l}, {}, {p})}});
      cells.push_back({"attn_out at", {times_one({Site::attn_out, l}, {}, {p})}});
    }
    for (const Site site : {Site::q, Site::k, Site::v, Site::attn_out, Site::resid_pre}) {
      cells.push_back({site_info(site).short_name, {times_one({site, l})}});
    }
    cells.push_back({"pattern", {times_one({Site::pattern, l}, {0})}});
    if (model.config().mlp == MlpKind::none) continue;
    cells.push_back({"mlp_out", {times_one({Site::mlp_out, l})}});
  }
  return cells;
}

void expect_inert(const Model& model, int length, const std::string& what) {
  std::vector<SweepPrompt> prompts;
  for (int i = 0; i < 3; ++i) prompts.push_back(prompt_of(length, i + 1));
  const std::vector<Cell> cells = inert_cells(model, std::min(length, 6));
  const SweepResult result =
      run_sweep(model, cells, prompts, {.metric = metric_of(model), .verify = 0});
  for (std::size_t c = 0; c < cells.size(); ++c) {
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      ASSERT_EQ(result.effects[c * prompts.size() + p], 0)
          << what << ", " << length << " tokens, " << cells[c].name << " "
          << hook_name(cells[c].edits[0].hook);
    }
  }
}

class EqualRows : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, EqualRows, ::testing::ValuesIn(fixture_families()));

TEST_P(EqualRows, InertCellsHaveNoEffect) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = fixture_model(GetParam(), dtype);
    for (const int length : {2, 5, 16, 19, 24}) {
      expect_inert(model, length, dtype == DType::f32 ? "f32" : "f64");
    }
  }
}

// Fused attention of LibTorch gives equal rows other bits for some of these head dimensions.
TEST(EqualRows, InEveryHeadDimension) {
  for (const int d_head : {6, 7, 8, 9, 10, 12, 16, 32, 64}) {
    for (const bool grouped : {false, true}) {
      ModelConfig config = tiny_config({.n_layers = 2,
                                        .n_heads = 4,
                                        .n_kv_heads = grouped ? 2 : 4,
                                        .d_model = 4 * d_head,
                                        .d_head = d_head,
                                        .d_vocab = 210,
                                        .n_context = 128,
                                        .scale = 0.3,
                                        .rotary = d_head % 2 == 0});
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Model model = tiny_model(config, random_values, dtype);
        for (const int length : {3, 17, 33, 64, 100}) {
          expect_inert(model, length, "d_head " + std::to_string(d_head));
        }
      }
    }
  }
}

// Edits of every kind, large enough to move everything behind them.
std::vector<Cell> some_cells(const Model& model) {
  std::vector<Cell> cells;
  const ModelConfig& config = model.config();
  for (int l = 0; l < config.n_layers; ++l) {
    for (int h = 0; h < config.n_heads(l); ++h) {
      cells.push_back({"z", {{.hook = {Site::z, l}, .heads = {h}}}});
    }
    const auto donor = [&](Site site, std::vector<int> heads, std::vector<int> at) {
      cells.push_back({site_info(site).short_name,
                       {{.hook = {site, l},
                         .operation = Operation::set,
                         .source = ValueSource::donor,
                         .heads = std::move(heads),
                         .q_positions = std::move(at)}}});
    };
    for (int p = 0; p < 5; ++p) donor(Site::resid_pre, {}, {p});
    donor(Site::attn_out, {}, {1});
    donor(Site::q, {0}, {});
    donor(Site::k, {0}, {});
    donor(Site::v, {1}, {2});
    donor(Site::pattern, {1}, {});
    donor(Site::pattern, {1}, {3});
    cells.push_back({"knockout",
                     {{.hook = {Site::attn_scores, l},
                       .operation = Operation::minus_infinity,
                       .heads = {0},
                       .q_positions = {3},
                       .k_positions = {1}}}});
    cells.push_back({"noise",
                     {{.hook = {Site::z, l}, .heads = {0}},
                      {.hook = {Site::attn_out, l},
                       .operation = Operation::add,
                       .source = ValueSource::noise}}});
    if (config.mlp == MlpKind::none) continue;
    donor(Site::mlp_out, {}, {});
    donor(Site::mlp_out, {}, {2});
    cells.push_back({"neuron", {{.hook = {Site::mlp_post, l}, .heads = {3}}}});
  }
  return cells;
}

std::vector<SweepPrompt> prompts_of_unequal_length() {
  return {prompt_of(9, 1), prompt_of(12, 2), prompt_of(9, 3), prompt_of(5, 4), prompt_of(23, 5)};
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

TEST_P(EqualRows, ExactIsTheNaiveLoopBitByBit) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = fixture_model(GetParam(), dtype);
    const std::vector<Cell> cells = some_cells(model);
    const std::vector<SweepPrompt> prompts = prompts_of_unequal_length();
    SweepSettings settings = {.metric = metric_of(model), .mode = SweepMode::exact, .verify = 0};
    const SweepResult exact = run_sweep(model, cells, prompts, settings);
    settings.mode = SweepMode::naive;
    const SweepResult naive = run_sweep(model, cells, prompts, settings);
    EXPECT_TRUE(same_bits(exact.effects, naive.effects));
    EXPECT_TRUE(same_bits(exact.baseline, naive.baseline));
  }
}

TEST_P(EqualRows, FastIsNearTheNaiveLoopInFloat32) {
  const Model model = fixture_model(GetParam(), DType::f32);
  const std::vector<Cell> cells = some_cells(model);
  // Lengths at which every family can be batched.
  const std::vector<SweepPrompt> prompts = {prompt_of(8, 1), prompt_of(16, 2), prompt_of(8, 3),
                                            prompt_of(24, 4)};
  SweepSettings settings = {.metric = metric_of(model), .verify = 0};
  const SweepResult fast = run_sweep(model, cells, prompts, settings);
  EXPECT_EQ(fast.engine.find("one cell a run"), std::string::npos) << "nothing is compared";
  settings.mode = SweepMode::naive;
  const SweepResult naive = run_sweep(model, cells, prompts, settings);
  double largest = 0;
  for (std::size_t i = 0; i < fast.effects.size(); ++i) {
    ASSERT_EQ(std::isnan(fast.effects[i]), std::isnan(naive.effects[i]));
    if (std::isnan(fast.effects[i])) continue;
    EXPECT_NEAR(fast.effects[i], naive.effects[i], 1e-4) << cells[i / prompts.size()].name;
    largest = std::max(largest, std::abs(naive.effects[i]));
  }
  EXPECT_GT(largest, 1e-2) << "cells that do nothing prove nothing";
}

TEST_P(EqualRows, ThreadsDoNotMatter) {
  const Model model = fixture_model(GetParam(), DType::f32);
  const std::vector<Cell> cells = some_cells(model);
  const std::vector<SweepPrompt> prompts = prompts_of_unequal_length();
  for (const SweepMode mode : {SweepMode::fast, SweepMode::exact}) {
    SweepSettings settings = {
        .metric = metric_of(model), .mode = mode, .verify = 5, .batch_tokens = 60};
    const SweepResult one = run_sweep(model, cells, prompts, settings);
    EXPECT_EQ(one.verified, 5);
    for (const int workers : {2, 3}) {
      settings.workers = workers;
      const int before = at::get_num_threads();
      at::set_num_threads(workers);  // as the command does with --threads
      const SweepResult many = run_sweep(model, cells, prompts, settings);
      EXPECT_EQ(at::get_num_threads(), workers) << "given back";
      at::set_num_threads(before);
      EXPECT_TRUE(same_bits(one.effects, many.effects)) << workers;
      EXPECT_TRUE(same_bits(one.baseline, many.baseline)) << workers;
      EXPECT_EQ(one.verify_difference, many.verify_difference) << workers;
      EXPECT_EQ(one.batch_difference, many.batch_difference) << workers;
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
