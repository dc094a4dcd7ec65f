// Sweeps of models of real size. ATTNSCOPE_MODELS names a folder that holds minilm/ and smollm2/.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "attnscope/probes/ablation.h"
#include "attnscope/probes/experiment_run.h"
#include "attnscope/probes/sweep.h"
#include "family_comparison.h"
#include "recorder.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

std::optional<std::string> real_model(const std::string& name) {
  const char* models = std::getenv("ATTNSCOPE_MODELS");
  if (models == nullptr) return std::nullopt;
  const std::string folder = std::string(models) + "/" + name;
  if (!std::filesystem::exists(folder)) return std::nullopt;
  return folder;
}

// Cells that change nothing have no effect, without help from padding or another engine.
TEST(RealModel, InertCellsHaveNoEffect) {
  const auto folder = real_model("smollm2");
  if (!folder) GTEST_SKIP() << "ATTNSCOPE_MODELS is not set, or has no smollm2";
  const Model model = load_model(*folder, DType::f32).model;
  std::vector<Cell> cells;
  for (const int l : {0, 14, 28, 29}) {
    const auto add = [&](Site site, std::vector<int> heads, std::vector<int> at) {
      cells.push_back({hook_name({site, l}),
                       {{.hook = {site, l},
                         .operation = Operation::scale,
                         .heads = std::move(heads),
                         .q_positions = std::move(at),
                         .factor = 1}}});
    };
    for (int h = 0; h < 9; ++h) add(Site::z, {h}, {});
    for (const int p : {0, 2, 4}) add(Site::resid_pre, {}, {p});
    add(Site::mlp_out, {}, {3});
    add(Site::pattern, {1}, {});
    add(Site::k, {0}, {});
  }
  std::vector<SweepPrompt> prompts;
  for (const int length : {5, 5, 14, 37, 37}) {
    SweepPrompt prompt = {.target = {.answers = {5099}, .wrongs = {2322}}};
    for (int i = 0; i < length; ++i) {
      prompt.row.ids.push_back((i * 977 + 31 * static_cast<std::int64_t>(prompts.size())) % 40000 +
                               300);
    }
    prompts.push_back(std::move(prompt));
  }
  const SweepResult result = run_sweep(model, cells, prompts, {.workers = 2, .verify = 0});
  EXPECT_EQ(result.engine, "auto");
  for (std::size_t i = 0; i < result.effects.size(); ++i) {
    EXPECT_EQ(result.effects[i], 0) << cells[i / prompts.size()].name;
  }
}

// An encoder without a head: how far its sentence embedding moves.
TEST(RealModel, EmbeddingShift) {
  const auto folder = real_model("minilm");
  if (!folder) GTEST_SKIP() << "ATTNSCOPE_MODELS is not set, or has no minilm";
  const TempFolder scratch;
  std::ofstream(scratch.file("texts.jsonl"))
      << R"({"clean": "A cat sits on the mat."})"
      << "\n"
      << R"({"clean": "Nobody expected rain that day, so we walked."})"
      << "\n";
  AblateSpec spec;
  spec.model = *folder;
  spec.pairs.pairs_file = scratch.file("texts.jsonl");
  spec.metric.metric = MetricChoice::embedding_shift;
  spec.compute.device = "cpu";
  spec.compute.dtype = ComputeDType::f64;
  spec.sweep.per_prompt = true;
  spec.heads = "0.3,2.7,5.11";
  const ExperimentResult result = run_ablation(spec);
  Warnings warnings;
  const ExperimentInputs inputs =
      open_inputs({.model = spec.model,
                   .pairs = spec.pairs,
                   .encoding = spec.encoding,
                   .needs = {.corrupt = CorruptUse::unused, .answers = AnswerUse::unused}},
                  warnings);
  const Model model = load_model(*folder, DType::f64).model;
  for (std::size_t p = 0; p < 2; ++p) {
    const Batch batch = make_batch({{.ids = inputs.pairs.pairs[p].clean.ids}});
    const auto embedding = [&](const Taps& taps) {
      return run_and_record(model, batch, {}, taps).output[0].mean(0);
    };
    const at::Tensor clean = embedding({});
    for (std::size_t c = 0; c < 3; ++c) {
      Taps taps;
      taps.interventions = {
          {.hook = {Site::z, static_cast<int>(result.record.integer("layers")->values[c])},
           .operation = Operation::zero,
           .heads = {static_cast<int>(result.record.integer("heads")->values[c])}}};
      const at::Tensor changed = embedding(taps);
      const double cosine = (clean.dot(changed) / clean.norm() / changed.norm()).item<double>();
      EXPECT_NEAR(result.record.array("per_prompt")->values[c * 2 + p], 1 - cosine, 1e-11);
      EXPECT_GT(1 - cosine, 1e-8);
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
