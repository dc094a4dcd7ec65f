// Sweeps against tables of ablations that other programs made (tests/fixtures/NOTICE.md, and the
// larger test material).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "attnscope/probes/ablation_cells.h"
#include "attnscope/probes/reference_means.h"
#include "attnscope/probes/sweep.h"
#include "family_comparison.h"
#include "oracle.h"
#include "published.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

std::vector<UnitSet> all_heads(const ModelConfig& config) {
  std::vector<UnitSet> sets;
  for (int l = 0; l < config.n_layers; ++l) {
    for (int h = 0; h < config.n_heads(l); ++h) {
      sets.push_back({{.kind = UnitKind::head, .layer = l, .index = h}});
    }
  }
  return sets;
}

// One cell a head; means are those of the prompts themselves.
std::vector<Cell> ablations(const Model& model, AblationMethod method,
                            const std::vector<SweepPrompt>& prompts) {
  const std::vector<UnitSet> sets = all_heads(model.config());
  MethodValues values;
  if (method != AblationMethod::zero) {
    std::vector<TokenRow> rows;
    for (const SweepPrompt& prompt : prompts) rows.push_back(prompt.row);
    values.means =
        reference_means(model, rows, hooks_of(sets, model.config()),
                        method == AblationMethod::mean_pos ? PositionMeans::on : PositionMeans::off,
                        Engine::automatic);
  }
  std::vector<Cell> cells;
  for (const UnitSet& set : sets) {
    cells.push_back({unit_set_name(set), ablation_edits(set, method, values, model.config())});
  }
  return cells;
}

double mean_of_prompts(const SweepResult& result, std::size_t cell) {
  double sum = 0;
  for (std::int64_t p = 0; p < result.n_prompts; ++p) {
    sum += result.effect(static_cast<std::int64_t>(cell), p);
  }
  return sum / static_cast<double>(result.n_prompts);
}

double mean_baseline(const SweepResult& result) {
  double sum = 0;
  for (const double value : result.baseline) sum += value;
  return sum / static_cast<double>(result.n_prompts);
}

// All 40 heads of a small trained Llama with grouped keys, in loss over a text of 256 tokens.
TEST(ReferenceTables, Stories) {
  const nlohmann::json reference = read_reference(fixture("models/stories260k/reference.json"));
  const std::vector<SweepPrompt> prompts = {
      {.row = {.ids = reference["greedy_ids_256"].get<std::vector<std::int64_t>>()}}};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = load_model(fixture("models/stories260k/hf"), dtype).model;
    const double allowed = dtype == DType::f64 ? 2e-9 : 1e-5;
    for (const auto& [method, table] : std::map<AblationMethod, std::string>{
             {AblationMethod::zero, "zero_ablation_delta_nll"},
             {AblationMethod::mean, "mean_over_positions_ablation_delta_nll"}}) {
      const SweepResult result =
          run_sweep(model, ablations(model, method, prompts), prompts,
                    {.metric = MetricChoice::loss, .workers = 2, .verify = 0});
      EXPECT_NEAR(result.baseline[0], reference["mean_nll_of_greedy"].get<double>(), allowed);
      ASSERT_EQ(result.n_cells, 40);
      for (int l = 0; l < 5; ++l) {
        for (int h = 0; h < 8; ++h) {
          EXPECT_NEAR(result.effect(l * 8 + h, 0), reference[table][l][h].get<double>(), allowed)
              << table << " " << l << "." << h;
        }
      }
    }
  }
}

class PizzaTables : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Models, PizzaTables,
                         ::testing::Values("l8k1hzciux", "p99zdpze5l", "4asyr7ht1p"),
                         [](const auto& model) { return "model_" + model.param; });

// (a + b) mod 59 over all pairs: loss and accuracy of every head, zeroed and set to its mean by
// position.
TEST_P(PizzaTables, LossAndAccuracy) {
  const nlohmann::json reference =
      read_reference(fixture("models/pizza/reference.json"))["models"][GetParam()];
  const Model model = load_model(fixture("custom/pizza_" + GetParam() + ".json"), DType::f32).model;
  constexpr std::int64_t kModulus = 59;
  std::vector<SweepPrompt> prompts;
  for (std::int64_t a = 0; a < kModulus; ++a) {
    for (std::int64_t b = 0; b < kModulus; ++b) {
      prompts.push_back({.row = {.ids = {a, b}}, .target = {.answers = {(a + b) % kModulus}}});
    }
  }
  for (const auto& [method, table] : std::map<AblationMethod, std::string>{
           {AblationMethod::zero, "zero_ablation"}, {AblationMethod::mean_pos, "mean_ablation"}}) {
    const std::vector<Cell> cells = ablations(model, method, prompts);
    ASSERT_EQ(cells.size(), reference[table].size());
    SweepSettings settings = {
        .metric = MetricChoice::log_prob, .workers = 2, .verify = 0, .batch_tokens = 160};
    const SweepResult loss = run_sweep(model, cells, prompts, settings);
    settings.metric = MetricChoice::rank;
    const SweepResult rank = run_sweep(model, cells, prompts, settings);
    EXPECT_NEAR(-mean_baseline(loss), reference["loss"].get<double>(), 1e-5);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto& expected = reference[table][cells[c].name];
      EXPECT_NEAR(-mean_baseline(loss) - mean_of_prompts(loss, c), expected["loss"].get<double>(),
                  1e-5)
          << table << " " << cells[c].name;
      double right = 0;
      for (std::size_t p = 0; p < prompts.size(); ++p) {
        const double after = rank.baseline[p] + rank.effects[c * prompts.size() + p];
        if (after == 0) right += 1;
      }
      EXPECT_NEAR(right / static_cast<double>(prompts.size()), expected["accuracy"].get<double>(),
                  3e-4)
          << table << " " << cells[c].name;
    }
  }
}

// An attention-only model that finds repeats: loss at chosen positions, means over everything.
TEST(ReferenceTables, Induction) {
  const auto path = material("models/induction");
  if (!path) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
  const nlohmann::json reference = read_reference(*path + "/reference_induction.json");
  const TempFolder folder;
  const Model model =
      load_with_weights(folder, "induction", *path + "/induction_2l_attn_only.safetensors");
  std::vector<SweepPrompt> prompts;
  for (std::size_t i = 0; i < reference["sequences"].size(); ++i) {
    SweepPrompt prompt = {
        .row = {.ids = reference["sequences"][i].get<std::vector<std::int64_t>>()}};
    for (const int copy : {1, 2}) {
      const int start = reference["chunk_starts"][i][copy].get<int>();
      for (int p = start + 2; p <= start + 14; ++p) prompt.target.at.push_back(p);
    }
    prompts.push_back(std::move(prompt));
  }
  const std::vector<Cell> cells = ablations(model, AblationMethod::mean, prompts);
  ASSERT_EQ(cells.size(), reference["heads"].size());
  const SweepResult result =
      run_sweep(model, cells, prompts, {.metric = MetricChoice::loss, .workers = 2, .verify = 0});
  EXPECT_NEAR(mean_baseline(result), reference["baseline_loss"].get<double>(), 1e-4);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    EXPECT_NEAR(mean_baseline(result) + mean_of_prompts(result, c),
                reference["heads"][cells[c].name]["mean_ablation_loss"].get<double>(), 1e-4)
        << cells[c].name;
  }
}

// Sums of z by position over the texts that reach it.
class PositionSums final : public Observer {
 public:
  Want want(HookId hook) const override {
    return hook.site == Site::z ? Want::whole_value() : Want::nothing();
  }
  void on_value(HookId hook, const at::Tensor& value, const Batch&) override {
    at::Tensor& sum = sums.try_emplace(hook, at::zeros({42, value.size(2), value.size(3)},
                                                       at::TensorOptions(at::kDouble)))
                          .first->second;
    sum.narrow(0, 0, value.size(1)).add_(value.to(at::kDouble).sum(0));
  }
  std::map<HookId, at::Tensor> sums;
};

// A classifier with attention in both directions over texts of many lengths.
TEST(ReferenceTables, Brackets) {
  const auto path = material("models/brackets");
  if (!path) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
  const nlohmann::json reference = read_reference(*path + "/reference.json");
  const TempFolder folder;
  const Model model = load_with_weights(folder, "brackets", *path + "/model.safetensors");
  std::map<std::size_t, std::vector<SweepPrompt>> by_length;
  for (const auto& entry : read_reference(*path + "/brackets_data_first5000.json")) {
    SweepPrompt prompt = {.row = {.ids = {0}}};
    for (const char bracket : entry[0].get<std::string>()) {
      prompt.row.ids.push_back(bracket == '(' ? 3 : 4);
    }
    prompt.row.ids.push_back(2);
    prompt.target.label = entry[1].get<bool>() ? 1 : 0;
    by_length[prompt.row.ids.size()].push_back(std::move(prompt));
  }
  PositionSums z;
  std::vector<double> texts(42, 0);
  for (const auto& [length, prompts] : by_length) {
    std::vector<TokenRow> rows;
    for (const SweepPrompt& prompt : prompts) rows.push_back(prompt.row);
    Taps taps;
    taps.observers = {&z};
    model.run(make_batch(rows), taps, {.logits = {.at = LogitsAt::none}});
    for (std::size_t p = 0; p < length; ++p) texts[p] += static_cast<double>(prompts.size());
  }
  const at::Tensor count = at::tensor(texts, at::TensorOptions(at::kDouble)).clamp_min(1);
  const std::vector<UnitSet> heads = all_heads(model.config());
  std::vector<double> sum(heads.size(), 0);
  for (auto& [length, prompts] : by_length) {
    MethodValues values;
    for (const auto& [hook, total] : z.sums) {
      values.means.by_position[hook] =
          (total / count.reshape({-1, 1, 1})).narrow(0, 0, static_cast<std::int64_t>(length));
    }
    std::vector<Cell> cells;
    for (const UnitSet& head : heads) {
      cells.push_back({unit_set_name(head),
                       ablation_edits(head, AblationMethod::mean_pos, values, model.config())});
    }
    const SweepSettings settings = {.metric = MetricChoice::label_logit, .workers = 2, .verify = 0};
    const SweepResult right = run_sweep(model, cells, prompts, settings);
    for (SweepPrompt& prompt : prompts) prompt.target.label = 1 - prompt.target.label;
    const SweepResult wrong = run_sweep(model, cells, prompts, settings);
    for (std::size_t i = 0; i < right.effects.size(); ++i) {
      const std::size_t p = i % prompts.size();
      sum[i / prompts.size()] +=
          right.baseline[p] + right.effects[i] - wrong.baseline[p] - wrong.effects[i];
    }
  }
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const std::string name = unit_set_name(heads[h]);
    EXPECT_NEAR(
        sum[h] / 5000,
        reference["mean_ablation_real_tokens"][name]["mean_correct_logit_diff"].get<double>(), 1e-4)
        << name;
  }
}

// The logits of the last position with one head zeroed, as the original implementations give them:
// every column of the vocabulary as an answer of its own.
class FamilyTables : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, FamilyTables, ::testing::ValuesIn(families()),
                         [](const auto& family) { return family.param; });

TEST_P(FamilyTables, ZeroedHeads) {
  const Oracle oracle(family_folder(GetParam()) + "/oracle.npz");
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = load_family(GetParam(), dtype).model;
    const double allowed = dtype == DType::f64 ? 1e-10 : 1e-4;
    int compared = 0;
    for (const std::string input : {"seq0", "seq1", "seq2"}) {
      const std::string array = input + "/ablate_zero.attn.hook_z";
      if (!oracle.has(array)) continue;
      const at::Tensor expected = oracle.array(array);  // [l h v]
      const at::Tensor clean = oracle.array(input + "/logits")[0][-1];
      std::vector<SweepPrompt> prompts;
      for (std::int64_t column = 0; column < expected.size(2); column += 25) {
        prompts.push_back({.row = oracle.input(input).rows[0], .target = {.answers = {column}}});
      }
      const std::vector<Cell> cells = ablations(model, AblationMethod::zero, prompts);
      const SweepResult result = run_sweep(model, cells, prompts, {.verify = 0});
      const at::Tensor flat = expected.flatten(0, 1);
      for (std::int64_t c = 0; c < result.n_cells; ++c) {
        for (std::int64_t p = 0; p < result.n_prompts; ++p, ++compared) {
          const std::int64_t column = prompts[static_cast<std::size_t>(p)].target.answers[0];
          EXPECT_NEAR(result.effect(c, p), (flat[c][column] - clean[column]).item<double>(),
                      allowed)
              << input << " " << cells[static_cast<std::size_t>(c)].name << " column " << column;
        }
      }
    }
    EXPECT_GT(compared, 150);
  }
}

// All 270 heads of a model of real size on one prompt of indirect objects.
TEST(RealModel, IndirectObjects) {
  const char* models = std::getenv("ATTNSCOPE_MODELS");
  const auto path = material("models/smollm2/reference.json");
  if (models == nullptr || !path) {
    GTEST_SKIP() << "ATTNSCOPE_MODELS or ATTNSCOPE_MATERIAL is not set";
  }
  const std::string folder = std::string(models) + "/smollm2";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " does not exist";
  const nlohmann::json reference = read_reference(*path);
  const Model model = load_model(folder, DType::f32).model;
  const auto& example = reference["ioi"][0];
  const std::vector<SweepPrompt> prompts = {
      {.row = {.ids = example["ids"].get<std::vector<std::int64_t>>()},
       .target = {.answers = {example["id_Mary"].get<std::int64_t>()},
                  .wrongs = {example["id_John"].get<std::int64_t>()}}}};
  const std::vector<Cell> cells = ablations(model, AblationMethod::zero, prompts);
  const SweepResult result = run_sweep(model, cells, prompts, {.workers = 2, .verify = 10});
  EXPECT_NEAR(result.baseline[0], example["difference"].get<double>(), 1e-3);
  EXPECT_LE(result.verify_difference, 1e-3);
  const auto& table = reference["ioi_zero_ablation_change_of_difference"]["table"];
  ASSERT_EQ(result.n_cells, 270);
  for (int l = 0; l < 30; ++l) {
    for (int h = 0; h < 9; ++h) {
      EXPECT_NEAR(result.effect(l * 9 + h, 0), table[l][h].get<double>(), 1e-3) << l << "." << h;
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
