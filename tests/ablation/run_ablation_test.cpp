// The whole verb on the demo model: what the record says against plain runs of the model.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>

#include "attnscope/data/pairs.h"
#include "attnscope/probes/ablation.h"
#include "attnscope/probes/experiment_run.h"
#include "attnscope/probes/reference_means.h"
#include "attnscope/storage/reader.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/error.h"
#include "testing/error_code.h"
#include "testing/fixtures.h"
#include "testing/plain_runs.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

AblateSpec demo_spec(const std::string& pairs = kDemo + "pairs/agreement.jsonl") {
  return demo_spec_of<AblateSpec>(pairs, 6);
}

Intervention set_head(int layer, int head, const at::Tensor& value) {
  return {.hook = {Site::z, layer}, .operation = Operation::set, .heads = {head}, .value = value};
}

TEST(RunAblation, EffectsAreThoseOfPlainRuns) {
  AblateSpec spec = demo_spec();
  spec.methods = "zero,mean,resample";
  spec.effects = "total,direct";
  const PlainRuns plain(spec);
  const ExperimentResult result = run_ablation(spec);
  const ModelConfig& config = plain.model().config();
  const auto n_heads = static_cast<std::size_t>(config.n_layers * config.n_heads(0));
  const std::size_t n_prompts = plain.pairs().size();
  ASSERT_EQ(n_prompts, 6U);
  EXPECT_EQ(result.cells, static_cast<std::int64_t>(3 * n_heads));
  const ExperimentRecord& record = result.record;
  EXPECT_EQ(record.text("methods")->values,
            (std::vector<std::string>{"zero", "mean", "resample", "zero (direct)", "mean (direct)",
                                      "resample (direct)"}));
  ASSERT_EQ(record.text("cells")->values.size(), n_heads);
  const std::vector<double>& all = record.array("per_prompt")->values;  // [method cell prompt]
  const auto effect = [&](std::size_t method, std::size_t cell, std::size_t p) {
    return all[(method * n_heads + cell) * n_prompts + p];
  };
  for (std::size_t p = 0; p < n_prompts; ++p) {
    EXPECT_NEAR(record.array("baseline")->values[p], plain.metric(p, {}), 1e-11);
  }
  for (std::size_t m = 0; m < 6; ++m) {
    for (std::size_t c = 0; c < n_heads; ++c) {
      double sum = 0;
      for (std::size_t p = 0; p < n_prompts; ++p) sum += effect(m, c, p);
      EXPECT_NEAR(record.array("effect")->values[m * n_heads + c], sum / 6, 1e-12);
      EXPECT_EQ(record.integer("n")->values[m * n_heads + c], 6);
    }
  }
  for (const std::size_t c : {std::size_t{1}, n_heads / 2, n_heads - 1}) {
    const auto layer = static_cast<int>(record.integer("layers")->values[c]);
    const auto head = static_cast<int>(record.integer("heads")->values[c]);
    EXPECT_EQ(record.text("cells")->values[c], std::to_string(layer) + "." + std::to_string(head));
    // Mean over all tokens of the corrupt prompts.
    at::Tensor sum;
    double tokens = 0;
    for (std::size_t p = 0; p < n_prompts; ++p) {
      const at::Tensor z = plain.z(layer, p, true).select(1, head);
      sum = sum.defined() ? sum + z.sum(0) : z.sum(0);
      tokens += static_cast<double>(z.size(0));
    }
    for (std::size_t p = 0; p < n_prompts; ++p) {
      const double before = plain.metric(p, {});
      EXPECT_NEAR(effect(0, c, p),
                  plain.metric(p, {set_head(layer, head, at::zeros({1}, at::kDouble))}) - before,
                  1e-11);
      EXPECT_NEAR(effect(1, c, p), plain.metric(p, {set_head(layer, head, sum / tokens)}) - before,
                  1e-11);
      EXPECT_NEAR(
          effect(2, c, p),
          plain.metric(p, {set_head(layer, head, plain.z(layer, p, true).narrow(1, head, 1))}) -
              before,
          1e-11);
    }
  }
  // What the last layer's attention does passes its own MLP and the final norm only: direct
  // effects differ from total ones, but not in sign where they are large.
  EXPECT_NE(effect(0, n_heads - 1, 0), effect(3, n_heads - 1, 0));
}

TEST(RunAblation, SetsInteractionsAndAllButOne) {
  AblateSpec spec = demo_spec();
  spec.heads = "0.1,1.2,2.0,0.1+1.2";
  spec.leave_one_in = true;
  const ExperimentResult result = run_ablation(spec);
  const PlainRuns plain(spec);
  const at::Tensor zero = at::zeros({1}, at::kDouble);
  const std::vector<double>& all = result.record.array("per_prompt")->values;
  ASSERT_EQ(result.record.text("cells")->values,
            (std::vector<std::string>{"0.1", "1.2", "2.0", "0.1+1.2"}));
  EXPECT_EQ(result.record.text("methods")->values.back(), "leave one in (zero)");
  for (std::size_t p = 0; p < 6; ++p) {
    const double before = plain.metric(p, {});
    const double joint = plain.metric(p, {set_head(0, 1, zero), set_head(1, 2, zero)}) - before;
    EXPECT_NEAR(all[3 * 6 + p], joint, 1e-11);
    // All but "2.0": the three other sets, which share units.
    EXPECT_NEAR(all[(4 + 2) * 6 + p], joint, 1e-11);
    const double rest =
        plain.metric(p, {set_head(0, 1, zero), set_head(1, 2, zero), set_head(2, 0, zero)}) -
        before;
    EXPECT_NEAR(all[(4 + 0) * 6 + p], rest, 1e-11);
  }
}

// Metrics that compare with the run before are 0 without a change and never below: no p, in no
// table. Those that can move both ways keep theirs.
TEST(RunAblation, DivergencesHaveNoP) {
  for (const char* name : {"kl", "total-variation", "top1-change", "logit-diff", "loss", "rank"}) {
    AblateSpec spec = demo_spec_of<AblateSpec>(kDemo + "pairs/agreement.jsonl", 60);
    spec.metric.metric = parse_choice<MetricChoice>(name, "metric");
    spec.heads = "0.*";
    spec.interactions = 2;
    const ExperimentResult result = run_ablation(spec);
    const bool divergence = spec.metric.metric == MetricChoice::kl ||
                            spec.metric.metric == MetricChoice::total_variation ||
                            spec.metric.metric == MetricChoice::top1_change;
    std::vector<ExperimentRecord> records = result.further_records;
    ASSERT_EQ(records.size(), 1U);
    records.push_back(result.record);
    for (const ExperimentRecord& record : records) {
      for (const char* array : {"p", "p_adjusted"}) {
        for (const double p : record.array(array)->values) {
          EXPECT_EQ(std::isnan(p), divergence) << name << " " << record.name << " " << array;
        }
      }
      for (const double low : record.array("ci_low")->values) EXPECT_FALSE(std::isnan(low)) << name;
      const NamedTexts* notes = record.text("notes");
      EXPECT_EQ(notes != nullptr, divergence || std::string(name) == "loss") << name;
    }
    if (spec.metric.metric == MetricChoice::loss) {
      EXPECT_EQ(result.record.text("notes")->values,
                std::vector<std::string>{
                    "loss is of each prompt's own next tokens: answers of pairs are not read."});
    }
    if (!divergence) continue;
    EXPECT_EQ(result.record.text("notes")->values[0],
              std::string("Effects have no p: ") + name +
                  " cannot be negative, so turning signs at random gives none.");
    for (const double effect : result.record.array("per_prompt")->values) EXPECT_GE(effect, 0);
  }
}

// Joint effects and their distance from the sum of total effects, whatever else is asked for.
TEST(RunAblation, InteractionsAreOfTotalEffects) {
  const TempFolder folder;
  AblateSpec spec = demo_spec();
  spec.heads = "0.1,1.2,2.0";
  spec.interactions = 2;
  for (const std::string effects : {"total", "direct"}) {
    spec.effects = effects;
    spec.output.out = folder.file(effects + ".h5");
    run_ablation(spec);
    const std::vector<ExperimentRecord> records = CaptureReader(spec.output.out).experiments();
    ASSERT_EQ(records.size(), 2U);
    const ExperimentRecord& pairs = records[records[0].name == "interactions" ? 0 : 1];
    ASSERT_EQ(pairs.name, "interactions");
    AblateSpec singles = spec;
    singles.effects = "total";
    singles.interactions = 0;
    singles.output.out = "";
    singles.heads = pairs.text("cells")->values[0];
    const std::string name = singles.heads;
    singles.heads += "," + name.substr(0, name.find('+')) + "," + name.substr(name.find('+') + 1);
    const std::vector<double> effect = run_ablation(singles).record.array("effect")->values;
    EXPECT_NEAR(pairs.array("effect")->values[0], effect[0], 1e-11);
    EXPECT_NEAR(pairs.array("effect")->values[1], effect[0] - effect[1] - effect[2], 1e-11);
  }
}

TEST(RunAblation, EveryUnitAndPosition) {
  const PlainRuns plain(demo_spec());
  for (const UnitChoice unit : {UnitChoice::kv_group, UnitChoice::mlp, UnitChoice::attention,
                                UnitChoice::neuron, UnitChoice::head_pos}) {
    AblateSpec spec = demo_spec();
    spec.unit = unit;
    spec.methods = "zero,mean";
    if (unit == UnitChoice::neuron) spec.neurons = "0.3,1.7";
    if (unit == UnitChoice::head_pos) {
      spec.heads = "1.*";
      spec.positions = "0,2-3,5";
    }
    const ExperimentResult result = run_ablation(spec);
    const ExperimentRecord& record = result.record;
    const std::size_t last = record.text("cells")->values.size() - 1;
    const auto layer = static_cast<int>(record.integer("layers")->values[last]);
    const auto head = static_cast<int>(record.integer("heads")->values[last]);
    Intervention change = {.hook = {Site::z, layer}, .operation = Operation::zero};
    if (unit == UnitChoice::mlp) change.hook.site = Site::mlp_out;
    if (unit == UnitChoice::attention) change.hook.site = Site::attn_out;
    if (unit == UnitChoice::neuron) change.hook.site = Site::mlp_post;
    if (unit == UnitChoice::neuron || unit == UnitChoice::head_pos) change.heads = {head};
    if (unit == UnitChoice::kv_group) {
      const AttentionSpec& spec_of = plain.model().config().layers[0].attention;
      const int group = spec_of.n_heads / spec_of.n_kv_heads;
      for (int h = 0; h < group; ++h) change.heads.push_back(head * group + h);
    }
    if (unit == UnitChoice::head_pos) {
      change.q_positions = {static_cast<int>(record.integer("positions")->values[last])};
      EXPECT_GT(change.q_positions[0], 3);
    }
    for (std::size_t p = 0; p < 6; ++p) {
      EXPECT_NEAR(record.array("per_prompt")->values[last * 6 + p],
                  plain.metric(p, {change}) - plain.metric(p, {}), 1e-11)
          << choice_name(unit);
    }
  }
}

TEST(RunAblation, FilesAreSoundAndRepeatBitByBit) {
  const TempFolder folder;
  AblateSpec spec = demo_spec();
  spec.methods = "zero,mean,resample";
  spec.compute.dtype = ComputeDType::f32;
  std::vector<std::string> hashes;
  for (const int threads : {1, 1, 2}) {
    spec.output.out = folder.file("run" + std::to_string(hashes.size()) + ".h5");
    spec.compute.threads = threads;
    const ExperimentResult result = run_ablation(spec);
    EXPECT_TRUE(verify_file(result.path).findings.empty());
    EXPECT_LE(*result.record.number_attribute("verify_max_difference"), 1e-4);
    EXPECT_GE(*result.record.integer_attribute("verify_cells"), 3);
    EXPECT_EQ(result.record.text_attribute("sweep_engine")->find("one cell"), std::string::npos);
    hashes.push_back(result.sha256);
    const std::vector<ExperimentRecord> stored = CaptureReader(result.path).experiments();
    ASSERT_EQ(stored.size(), 1U);
    EXPECT_EQ(cells_of_grid(stored[0]).array("effect")->values,
              result.record.array("effect")->values);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

// Prompts without a twin get one of their length and of another group, drawn by the seed alone.
TEST(Donors, AreOfAnotherGroupAndOfEqualLength) {
  std::vector<int> clusters;
  const auto prompts = [&] {
    std::vector<SweepPrompt> list;
    clusters.clear();
    for (int p = 0; p < 24; ++p) {
      list.push_back({.row = {.ids = std::vector<std::int64_t>(4 + p % 3, p)}});
      clusters.push_back(p / 6);
    }
    list[5].donors = {list[2].row};
    return list;
  };
  std::vector<std::vector<std::int64_t>> drawn;
  for (const std::uint64_t seed : {1, 1, 2}) {
    std::vector<SweepPrompt> list = prompts();
    draw_donors(list, clusters, seed);
    std::vector<std::int64_t> sources;
    for (std::size_t p = 0; p < list.size(); ++p) {
      ASSERT_EQ(list[p].donors.size(), 1U);
      EXPECT_EQ(list[p].donors[0].ids.size(), list[p].row.ids.size());
      const std::int64_t source = list[p].donors[0].ids[0];
      if (p == 5) {
        EXPECT_EQ(source, 2) << "a twin stays";
      } else {
        EXPECT_NE(clusters[static_cast<std::size_t>(source)], clusters[p]);
      }
      sources.push_back(source);
    }
    drawn.push_back(sources);
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_NE(drawn[0], drawn[2]);
}

std::string write(const TempFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.file(name)) << text;
  return folder.file(name);
}

TEST(RunAblation, BadInputIsNamed) {
  const TempFolder folder;
  const std::string unequal =
      write(folder, "unequal.jsonl",
            R"({"clean": "The tree is", "answer": " red", "wrong": " blue"})"
            "\n"
            R"({"clean": "The tree is a tree", "answer": " red", "wrong": " blue"})"
            "\n");
  AblateSpec spec = demo_spec(unequal);
  spec.methods = "mean-pos";
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "AB10");
  spec.methods = "resample";
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "AB11");
  // Means by position of other prompts, of another length.
  spec = demo_spec();
  spec.methods = "mean-pos";
  spec.reference = write(folder, "reference.txt", "The tree\nThe house\n");
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "AB10");
  spec = demo_spec();
  spec.methods = "vector";
  spec.vector_file = write(folder, "v.json", "[1, 2]");
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "AB20");
  spec = demo_spec();
  spec.methods = "optimal";
  spec.metric.metric = MetricChoice::rank;
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "AB31");
  spec = demo_spec();
  spec.unit = UnitChoice::head_pos;
  spec.positions = "400";
  EXPECT_NE(code_of([&] { run_ablation(spec); }), "");
}

// Values that float32 cannot hold: missing, counted, said, and an error when asked for.
TEST(RunAblation, EffectsThatAreNotFinite) {
  const TempFolder folder;
  AblateSpec spec = demo_spec();
  spec.compute.dtype = ComputeDType::f32;
  spec.methods = "zero,vector";
  spec.heads = "0.1";
  const PlainRuns plain(spec);
  std::string list = "[";
  for (int i = 0; i < plain.model().config().layers[0].attention.d_head; ++i) {
    list += (i == 0 ? "" : ", ") + std::string("1e39");
  }
  spec.vector_file = write(folder, "huge.json", list + "]");
  const ExperimentResult result = run_ablation(spec);
  const ExperimentRecord& record = result.record;
  EXPECT_TRUE(std::isfinite(record.array("effect")->values[0]));
  EXPECT_TRUE(std::isnan(record.array("effect")->values[1]));
  EXPECT_EQ(record.integer("n")->values[1], 0);
  EXPECT_EQ(record.integer("undefined")->values[1], 6);
  EXPECT_EQ(*record.integer_attribute("non_finite"), 6);
  ASSERT_FALSE(result.warnings.empty());
  spec.fail_on_nan = true;
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "PX01");
}

// An encoder whose answer fills a mask, given as ids.
TEST(RunAblation, MaskedLanguageModels) {
  const TempFolder folder;
  AblateSpec spec = demo_spec(write(folder, "ids.jsonl",
                                    R"({"clean_ids": [5, 9, 30, 44, 8, 6], "answer_id": 21, )"
                                    R"("wrong_id": 70})"
                                    "\n"
                                    R"({"clean_ids": [5, 12, 31, 4, 80, 6], "answer_id": 33, )"
                                    R"("wrong_id": 71})"
                                    "\n"));
  spec.model = fixture("families/bert");
  spec.metric.at = "3";
  const ExperimentResult result = run_ablation(spec);
  const PlainRuns plain(spec);
  for (std::size_t p = 0; p < 2; ++p) {
    const auto at_mask = [&](const std::vector<Intervention>& changes) {
      Taps taps;
      taps.interventions = changes;
      const at::Tensor row = run_and_record(plain.model(), plain.batch(p), {}, taps).output[0][3];
      return (row[plain.pairs()[p].answers[0]] - row[plain.pairs()[p].wrongs[0]]).item<double>();
    };
    EXPECT_NEAR(result.record.array("baseline")->values[p], at_mask({}), 1e-11);
    EXPECT_NEAR(result.record.array("per_prompt")->values[7 * 2 + p],
                at_mask({set_head(1, 1, at::zeros({1}, at::kDouble))}) - at_mask({}), 1e-11);
  }
}

// Optimal constants cost no more than zero and the mean, nor than another prompt's values, on the
// prompts they were fitted to (Li and Janson 2024).
TEST(RunAblation, TheOptimalConstantCostsLeast) {
  AblateSpec spec = demo_spec();
  spec.methods = "zero,mean,resample,optimal";
  spec.heads = "0.0,1.3,2.1,3.2";
  for (const MetricChoice metric :
       {MetricChoice::loss, MetricChoice::log_prob, MetricChoice::logit_diff}) {
    spec.metric.metric = metric;
    const ExperimentResult result = run_ablation(spec);
    const std::vector<double>& effect = result.record.array("effect")->values;  // [method cell]
    const double sign = metric == MetricChoice::loss ? 1 : -1;
    int lower = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      const auto cost = [&](std::size_t method) { return sign * effect[method * 4 + c]; };
      EXPECT_LE(cost(3), std::min(cost(0), cost(1)) + 1e-12) << choice_name(metric) << " " << c;
      if (metric == MetricChoice::loss) {
        EXPECT_LE(cost(3), cost(2) + 1e-12) << c;
      }
      lower += cost(3) < std::min(cost(0), cost(1)) - 1e-6 ? 1 : 0;
    }
    EXPECT_GE(lower, 2) << "a descent that finds nothing proves nothing";
  }
}

// A word, a column or a number from the end is one cell, wherever it stands in each prompt.
TEST(RunAblation, PositionsByName) {
  AblateSpec spec = demo_spec();
  spec.unit = UnitChoice::head_pos;
  spec.heads = "1.2,0.1+1.3";
  spec.methods = "zero,resample";
  spec.positions = "2,last,-2,-1,2-3";
  const PlainRuns plain(spec);
  const ExperimentRecord record = run_ablation(spec).record;
  const std::vector<std::string> names = {
      "1.2@2",         "1.2@last",   "1.2@-2", "1.2@3", "0.1@2+1.3@2", "0.1@last+1.3@last",
      "0.1@-2+1.3@-2", "0.1@3+1.3@3"};  // -1 is last, 2 is there already
  EXPECT_EQ(record.text("cells")->values, names);
  const std::size_t n_prompts = plain.pairs().size();
  const std::vector<double>& effects = record.array("per_prompt")->values;
  for (std::size_t p = 0; p < n_prompts; ++p) {
    const auto length = static_cast<int>(plain.pairs()[p].clean.size());
    const std::vector<int> at = {2, length - 1, length - 2, 3};
    for (std::size_t m = 0; m < 2; ++m) {
      for (std::size_t c = 0; c < names.size(); ++c) {
        std::vector<Intervention> changes;
        const std::vector<std::pair<int, int>> heads =
            c < 4 ? std::vector<std::pair<int, int>>{{1, 2}}
                  : std::vector<std::pair<int, int>>{{0, 1}, {1, 3}};
        for (const auto& [layer, head] : heads) {
          const int position = at[c % 4];
          const at::Tensor value =
              m == 0 ? at::zeros({1}, at::kDouble)
                     : plain.z(layer, p, true).narrow(0, position, 1).narrow(1, head, 1);
          changes.push_back(set_head(layer, head, value));
          changes.back().q_positions = {position};
        }
        EXPECT_NEAR(effects[(m * names.size() + c) * n_prompts + p],
                    plain.metric(p, changes) - plain.metric(p), 1e-11)
            << names[c] << " " << m;
      }
    }
  }
}

TEST(RunAblation, RefusesWhatOneUnitCannotShow) {
  AblateSpec spec = demo_spec();
  spec.heads = "1.2";
  spec.leave_one_in = true;
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "AB24");
  spec.leave_one_in = false;
  spec.interactions = 2;
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "AB24");
  spec.interactions = 0;
  spec.unit = UnitChoice::head_pos;
  spec.heads = "1.2@3";
  EXPECT_EQ(code_of([&] { run_ablation(spec); }), "AB23");
}

}  // namespace
}  // namespace attnscope::testing
