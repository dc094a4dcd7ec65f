// The whole verb on the demo model: what the records say against plain runs of the model.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

#include "attnscope/data/pairs.h"
#include "attnscope/probes/experiment_run.h"
#include "attnscope/probes/patching.h"
#include "attnscope/storage/reader.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/error.h"
#include "testing/error_code.h"
#include "testing/plain_runs.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

PatchSpec demo_spec() {
  return demo_spec_of<PatchSpec>(kDemo + "pairs/agreement.jsonl", 4);
}

// The value of `hook` in the other run of the pair, at one position and head.
Intervention from_other(const PlainRuns& plain, HookId hook, std::size_t p, bool other_is_corrupt,
                        int position, int head) {
  Intervention change = {
      .hook = hook, .operation = Operation::set, .value = plain.value(hook, p, other_is_corrupt)};
  const bool map = hook.site == Site::pattern;
  if (position >= 0) {
    change.q_positions = {position};
    change.value = change.value.narrow(map ? 2 : 1, position, 1);
  }
  if (head >= 0) {
    change.heads = {head};
    change.value = change.value.narrow(map ? 1 : 2, head, 1);
  }
  return change;
}

TEST(RunPatching, EveryGridInBothDirections) {
  const PlainRuns plain(demo_spec());
  struct Case {
    Site site;
    const char* by;
  };
  for (const Case& grid :
       {Case{Site::resid_pre, "layer,pos"}, Case{Site::attn_out, "layer,pos"},
        Case{Site::mlp_out, "layer,pos"}, Case{Site::z, "layer,head"}, Case{Site::q, "layer,head"},
        Case{Site::k, "layer,head,pos"}, Case{Site::v, "layer,head"},
        Case{Site::pattern, "layer,head"}, Case{Site::pattern, "layer,head,pos"}}) {
    for (const PatchDirection direction : {PatchDirection::denoise, PatchDirection::noise}) {
      PatchSpec spec = demo_spec();
      spec.sites = site_info(grid.site).short_name;
      spec.by = grid.by;
      spec.direction = direction;
      spec.layers = "0-1";
      if (spec.by == "layer,head,pos") spec.positions = "3,8";
      const ExperimentResult result = run_patching(spec);
      const ExperimentRecord& record = result.record;
      const bool runs_corrupt = direction == PatchDirection::denoise;
      const auto& names = record.text("cells")->values;
      const auto& all = record.array("per_prompt")->values;
      int moved = 0;
      for (std::size_t p = 0; p < 4; ++p) {
        const double clean = plain.metric(p);
        const double corrupt = plain.metric(p, {}, true);
        const double base = runs_corrupt ? corrupt : clean;
        EXPECT_NEAR(record.array("baseline")->values[p], base, 1e-11);
        for (std::size_t c = 0; c < names.size(); c += names.size() / 5 + 1) {
          const HookId hook = {grid.site, static_cast<int>(record.integer("layers")->values[c])};
          const double patched =
              plain.metric(p,
                           {from_other(plain, hook, p, !runs_corrupt,
                                       static_cast<int>(record.integer("positions")->values[c]),
                                       static_cast<int>(record.integer("heads")->values[c]))},
                           runs_corrupt);
          EXPECT_NEAR(all[c * 4 + p], patched - base, 1e-11) << spec.sites << " " << names[c];
          moved += std::abs(patched - base) > 1e-6 ? 1 : 0;
        }
      }
      EXPECT_GE(moved, 1) << spec.sites << " " << spec.by;
    }
  }
}

// r = (M − M_corrupt) / (M_clean − M_corrupt), the mean over the prompts that have a denominator.
TEST(RunPatching, RecoveryIsUnclippedAndDropsSmallDenominators) {
  const PlainRuns plain(demo_spec());
  std::vector<double> span;
  for (std::size_t p = 0; p < 4; ++p) {
    span.push_back(plain.metric(p) - plain.metric(p, {}, true));
  }
  std::vector<double> sizes;
  for (const double s : span) sizes.push_back(std::abs(s));
  std::sort(sizes.begin(), sizes.end());
  for (const PatchDirection direction : {PatchDirection::denoise, PatchDirection::noise}) {
    PatchSpec spec = demo_spec();
    spec.direction = direction;
    spec.floor = (sizes[0] + sizes[1]) / 2;
    const ExperimentResult result = run_patching(spec);
    const ExperimentRecord& record = result.record;
    EXPECT_EQ(*record.integer_attribute("dropped"), 1);
    const auto& all = record.array("per_prompt")->values;
    const auto& recovery = record.array("recovery")->values;
    for (std::size_t c = 0; c < recovery.size(); ++c) {
      double sum = 0;
      for (std::size_t p = 0; p < 4; ++p) {
        if (std::abs(span[p]) < spec.floor) continue;
        const double base = direction == PatchDirection::denoise ? 0 : span[p];
        sum += (all[c * 4 + p] + base) / span[p] / 3;
      }
      EXPECT_NEAR(recovery[c], sum, 1e-10);
    }
  }
}

// All positions of the first layer's input are the whole other prompt.
TEST(RunPatching, TheLastLayersOutputIsTheOtherAnswer) {
  PatchSpec spec = demo_spec();
  spec.sites = "resid_post";
  spec.positions = "last";
  const ExperimentResult result = run_patching(spec);
  const std::size_t last = result.record.text("cells")->values.size() - 1;
  EXPECT_NEAR(result.record.array("recovery")->values[last], 1, 1e-11);
}

TEST(RunPatching, Edges) {
  const PlainRuns plain(demo_spec());
  PatchSpec spec = demo_spec();
  spec.edges = "knockout,value-zero";
  spec.queries = "last";
  spec.keys = "2-3";
  for (const char* by : {"", "layer,head"}) {
    spec.by = by;
    spec.window = spec.by.empty() ? 2 : 1;
    const ExperimentResult result = run_patching(spec);
    const ExperimentRecord& record = result.record;
    EXPECT_EQ(record.name, "edges");
    const auto& all = record.array("per_prompt")->values;
    const std::size_t n_cells = record.text("cells")->values.size();
    for (std::size_t m = 0; m < 2; ++m) {
      for (std::size_t c = 0; c < n_cells; ++c) {
        const auto layer = static_cast<int>(record.integer("layers")->values[c]);
        Intervention cut = {.hook = {m == 0 ? Site::attn_scores : Site::pattern, layer},
                            .operation = m == 0 ? Operation::minus_infinity : Operation::zero,
                            .q_positions = {-1},
                            .k_positions = {2, 3}};
        std::vector<Intervention> changes;
        if (spec.by.empty()) {
          changes = {cut};
          cut.hook.layer = layer + 1;
          if (layer + 1 < plain.model().config().n_layers) changes.push_back(cut);
        } else {
          cut.heads = {static_cast<int>(record.integer("heads")->values[c])};
          changes = {cut};
        }
        for (std::size_t p = 0; p < 4; ++p) {
          EXPECT_NEAR(all[(m * n_cells + c) * 4 + p], plain.metric(p, changes) - plain.metric(p),
                      1e-11)
              << record.text("methods")->values[m] << " " << record.text("cells")->values[c];
        }
      }
    }
  }
}

// A row that loses every key attends to nothing: cutting 0 → 0 is silencing the head at 0.
TEST(RunPatching, ARowWithoutKeysIsSilencedAndCounted) {
  PatchSpec spec = demo_spec();
  spec.edges = "knockout";
  spec.by = "layer,head";
  spec.layers = "1";
  spec.queries = "0-1";
  spec.keys = "0";
  const PlainRuns plain(spec);
  const ExperimentResult one = run_patching(spec);
  EXPECT_EQ(one.record.integer_attribute("rows_without_keys"), 4);  // query 0 of every prompt
  spec.queries = "0";
  const ExperimentResult result = run_patching(spec);
  EXPECT_EQ(result.record.integer_attribute("rows_without_keys"), 4);
  const std::string said = "4 query rows without any key left by --edge knockout";
  EXPECT_TRUE(std::any_of(result.warnings.begin(), result.warnings.end(),
                          [&](const std::string& line) { return line.starts_with(said); }));
  const std::vector<double>& effects = result.record.array("per_prompt")->values;
  ASSERT_EQ(effects.size(), 8U * 4U);
  for (std::size_t head = 0; head < 8; ++head) {
    for (std::size_t p = 0; p < 4; ++p) {
      const Intervention silence = {.hook = {Site::z, 1},
                                    .operation = Operation::zero,
                                    .heads = {static_cast<int>(head)},
                                    .q_positions = {0}};
      EXPECT_NEAR(effects[head * 4 + p], plain.metric(p, {silence}) - plain.metric(p), 1e-11);
    }
  }
  spec.queries = "1";  // sees itself still
  const ExperimentResult other = run_patching(spec);
  EXPECT_EQ(other.record.integer_attribute("rows_without_keys"), 0);
  spec.queries = "0";
  spec.edges = "value-zero";  // takes values away, not keys
  for (const std::string& line : run_patching(spec).warnings) {
    EXPECT_EQ(line.find("without any key"), std::string::npos) << line;
  }
}

TEST(RunPatching, NamesThatMeanOnePlaceAreOneCell) {
  PatchSpec spec = demo_spec();
  spec.layers = "0";
  spec.positions = "last,-1,2,1-2,2";
  EXPECT_EQ(run_patching(spec).record.text("cells")->values,
            (std::vector<std::string>{"0@last", "0@2", "0@1"}));
}

// Sites, edges and paths by a metric that cannot be negative: no p, no recovery.
TEST(RunPatching, DivergencesHaveNoPAndNoRecovery) {
  for (const char* what : {"sites", "edges", "paths"}) {
    PatchSpec spec = demo_spec_of<PatchSpec>(kDemo + "pairs/agreement.jsonl", 60);
    spec.metric.metric = MetricChoice::kl;
    const std::string kind = what;
    if (kind == "sites") {
      spec.sites = "z";
      spec.layers = "0";
      spec.direction = PatchDirection::noise;
    } else if (kind == "edges") {
      spec.edges = "knockout";
      spec.queries = "last";
      spec.keys = "2";
    } else {
      spec.senders = "0.1,mlp:0";
      spec.receivers = "logits";
    }
    const ExperimentRecord record = run_patching(spec).record;
    for (const char* array : {"p", "p_adjusted"}) {
      for (const double p : record.array(array)->values) EXPECT_TRUE(std::isnan(p)) << what;
    }
    for (const double effect : record.array("effect")->values) EXPECT_GE(effect, 0) << what;
    for (const double low : record.array("ci_low")->values) EXPECT_FALSE(std::isnan(low)) << what;
    EXPECT_EQ(record.array("recovery"), nullptr) << what;
    ASSERT_NE(record.text("notes"), nullptr) << what;
  }
}

TEST(RunPatching, PathsAreStored) {
  const TempFolder folder;
  PatchSpec spec = demo_spec();
  spec.senders = "0.1,mlp:0,0.2+1.3";
  spec.receivers = "2.0.q,2.1.k,mlp:3";
  spec.output.out = folder.file("paths.h5");
  const ExperimentResult result = run_patching(spec);
  EXPECT_EQ(result.record.text("cells")->values,
            (std::vector<std::string>{"0.1", "mlp:0", "0.2+1.3"}));
  EXPECT_EQ(*result.record.text_attribute("receivers"), "2.0.q, 2.1.k, mlp:3");
  EXPECT_TRUE(verify_file(result.path).findings.empty());
}

// A map of positions is read with the tokens of both prompts below it.
TEST(RunPatching, TheFileHoldsTheTextOfBothPrompts) {
  const TempFolder folder;
  PatchSpec spec = demo_spec();
  spec.output.out = folder.file("patch.h5");
  run_patching(spec);
  std::ifstream pairs(kDemo + "pairs/agreement.jsonl");
  const CaptureReader file(spec.output.out);
  for (int p = 0; p < file.prompts(); ++p) {
    std::string line;
    std::getline(pairs, line);
    const PromptRecord prompt = file.prompt(p);
    EXPECT_NE(line.find("\"clean\": \"" + prompt.text + "\""), std::string::npos) << line;
    const auto corrupt = std::find_if(prompt.columns.begin(), prompt.columns.end(),
                                      [](const auto& column) { return column.first == "corrupt"; });
    ASSERT_NE(corrupt, prompt.columns.end());
    const std::string text = std::get<std::string>(corrupt->second);
    EXPECT_NE(line.find("\"corrupt\": \"" + text + "\""), std::string::npos) << text;
  }
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Stops once enough cells have run.
class Stopper final : public ProgressListener {
 public:
  explicit Stopper(std::int64_t after) : after_(after) {}
  void update(const ProgressState& state) override {
    if (state.items_done >= after_) stop = true;
  }
  std::atomic<bool> stop = false;

 private:
  std::int64_t after_;
};

// Interrupted anywhere and resumed: the same bytes, and what was committed is not run again.
TEST(RunPatching, InterruptedAndResumedIsTheSameFile) {
  const TempFolder folder;
  PatchSpec spec = demo_spec();
  spec.sites = "resid_pre,z,v";
  spec.compute.dtype = ComputeDType::f32;
  spec.output.out = folder.file("whole.h5");
  run_patching(spec);
  const std::string expected = bytes_of(spec.output.out);
  ASSERT_FALSE(expected.empty());
  for (const std::int64_t after : {1, 60, 200, 230}) {
    spec.output.out = folder.file("run" + std::to_string(after) + ".h5");
    Stopper stopper(after);
    ExperimentContext context;
    context.stop = &stopper.stop;
    context.progress = &stopper;
    spec.output.resume = false;
    EXPECT_EQ(code_of([&] { run_patching(spec, context); }).substr(0, 2), "SW") << after;
    EXPECT_TRUE(bytes_of(spec.output.out).empty());
    spec.output.resume = true;
    run_patching(spec);
    EXPECT_EQ(bytes_of(spec.output.out), expected) << after;
    // A finished run stays as it is.
    run_patching(spec);
    EXPECT_EQ(bytes_of(spec.output.out), expected) << after;
  }
}

TEST(RunPatching, BadInputIsNamed) {
  const TempFolder folder;
  PatchSpec spec = demo_spec();
  const std::string misaligned = folder.file("misaligned.jsonl");
  std::ofstream(misaligned)
      << R"({"clean": "The tree is", "corrupt": "The tree is a", "answer": " red", "wrong": " old"})"
      << "\n"
      << R"({"clean": "The tree is", "corrupt": "The house is", "answer": " red", "wrong": " old"})"
      << "\n";
  spec.pairs.pairs_file = misaligned;
  EXPECT_EQ(code_of([&] { run_patching(spec); }).substr(0, 2), "PA");
  spec.pairs.skip_misaligned = true;
  EXPECT_EQ(run_patching(spec).misaligned, 1);

  spec = demo_spec();
  spec.metric.metric = MetricChoice::kl;
  EXPECT_EQ(code_of([&] { run_patching(spec); }), "PT04");
  spec = demo_spec();
  spec.sites = "ln1_scale";
  EXPECT_NE(code_of([&] { run_patching(spec); }), "");
  spec = demo_spec();
  spec.sites = "z";
  spec.by = "layer,pos";
  EXPECT_EQ(code_of([&] { run_patching(spec); }), "PT02");
  spec = demo_spec();
  spec.edges = "knockout";
  EXPECT_NE(code_of([&] { run_patching(spec); }), "");
  spec = demo_spec();
  spec.positions = "200";
  EXPECT_NE(code_of([&] { run_patching(spec); }), "");
  // A word that no prompt has.
  spec.positions = "\"zebra\"";
  EXPECT_NE(code_of([&] { run_patching(spec); }), "");
}

}  // namespace
}  // namespace attnscope::testing
