// The whole verb: from a pairs file to lens.h5.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "attnscope/model/model.h"
#include "attnscope/probes/lens.h"
#include "attnscope/storage/reader.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/error.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

const std::string kModel = std::string(ATTNSCOPE_SOURCE_DIR) + "/probes/demo/tiny-english";
const std::string kPairs =
    std::string(ATTNSCOPE_SOURCE_DIR) + "/probes/demo/pairs/indirect_object.jsonl";

LensSpec pairs_spec(const std::string& out) {
  LensSpec spec;
  spec.model = kModel;
  spec.pairs.pairs_file = kPairs;
  spec.pairs.limit = 3;
  spec.compute.device = "cpu";
  spec.output.out = out;
  return spec;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// logit(answer) − logit(wrong) at the last position, by a plain run.
double difference(const std::vector<double>& ids, std::int64_t answer, std::int64_t wrong) {
  Warnings warnings;
  const Model model = Model::load(open_checkpoint(kModel, {}, warnings), {}, warnings);
  RunOptions options;
  options.logits = {.at = LogitsAt::last, .columns = {answer, wrong}};
  const at::Tensor logits =
      model.run(make_batch({{.ids = {ids.begin(), ids.end()}}}), {}, options).logits[0][0];
  return (logits[0] - logits[1]).item<double>();
}

TEST(RunLens, WritesOneRecordAPromptAndTheirMeans) {
  const TempFolder folder;
  const ExperimentResult result = run_lens(pairs_spec(folder.file("lens.h5")));
  EXPECT_EQ(result.prompts, 3);
  ASSERT_EQ(result.prompt_records.size(), 3U);
  EXPECT_TRUE(verify_file(result.path).findings.empty());
  const CaptureReader reader(result.path);
  const std::vector<ExperimentRecord> records = reader.experiments();
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].name, "lens");
  EXPECT_EQ(records[3].name, "lens/p000002");
  EXPECT_EQ(records[0].metric, "logit-diff");
  double mean = 0;
  for (std::size_t p = 1; p < 4; ++p) {
    const ExperimentRecord& record = records[p];
    EXPECT_EQ(record.array("kl")->values, result.prompt_records[p - 1].array("kl")->values);
    const std::vector<double>& ends = record.array("dla_ends")->values;
    ASSERT_EQ(ends.size(), 4U);
    double sum = ends[1] + ends[2] + ends[3];
    for (const char* name : {"dla_heads", "dla_mlps", "dla_attention_biases"}) {
      for (const double value : record.array(name)->values) sum += value;
    }
    EXPECT_NEAR(sum, ends[0], 1e-5 * std::max(1.0, std::abs(ends[0])));
    mean += ends[0] / 3;
    const auto& tokens = *record.text("tokens");
    EXPECT_EQ(record.array("dla_sources")->shape.back(), tokens.shape[0]);
    EXPECT_EQ(record.integer("reads")->values.front(), tokens.shape[0] - 1);
    EXPECT_EQ(record.text("top_text")->values.size(), record.integer("top_id")->values.size());
  }
  EXPECT_NEAR(records[0].array("dla_ends")->values[0], mean, 1e-9);
}

// The attribution's total is the logit difference of the pair's own answers.
TEST(RunLens, AttributesTheAnswersOfThePair) {
  LensSpec spec;
  spec.model = kModel;
  spec.compute.device = "cpu";
  spec.pairs.ids = {{5, 40, 61, 7, 90}};
  spec.pairs.answer_id = 33;
  spec.pairs.wrong_id = 12;
  const ExperimentResult result = run_lens(spec);
  EXPECT_EQ(result.path, "");
  EXPECT_NEAR(result.prompt_records.at(0).array("dla_ends")->values[0],
              difference({5, 40, 61, 7, 90}, 33, 12), 1e-4);
  EXPECT_EQ(result.record.metric, "logit-diff");
  spec.pairs.answer_id.reset();
  spec.pairs.wrong_id.reset();
  spec.positions = "1,last";
  const ExperimentResult own = run_lens(spec);
  EXPECT_EQ(own.prompt_records[0].integer("reads")->values, (std::vector<std::int64_t>{1, 4}));
  const auto* ranks = own.prompt_records[0].integer("target_rank");
  EXPECT_EQ(ranks->values.back(), 0);  // the model's own first choice
}

TEST(RunLens, SameOptionsSameBytes) {
  const TempFolder folder;
  const ExperimentResult one = run_lens(pairs_spec(folder.file("a.h5")));
  const ExperimentResult two = run_lens(pairs_spec(folder.file("b.h5")));
  EXPECT_EQ(one.sha256, two.sha256);
  EXPECT_EQ(bytes_of(one.path), bytes_of(two.path));
  const std::string sidecar = bytes_of(folder.file("a.json"));
  EXPECT_NE(sidecar.find(one.sha256), std::string::npos);
  EXPECT_NE(sidecar.find("pairs_file"), std::string::npos);
  EXPECT_THROW(run_lens(pairs_spec(folder.file("a.h5"))), Error);
}

TEST(RunLens, DryRunComputesNothing) {
  const TempFolder folder;
  LensSpec spec = pairs_spec(folder.file("lens.h5"));
  spec.output.dry_run = true;
  std::string plan;
  ExperimentContext context;
  context.on_plan = [&plan](const std::string& text) { plan = text; };
  const ExperimentResult result = run_lens(spec, context);
  EXPECT_NE(plan.find("3 prompts"), std::string::npos) << plan;
  EXPECT_TRUE(result.prompt_records.empty());
  EXPECT_FALSE(std::ifstream(folder.file("lens.h5")).good());
}

TEST(RunLens, AFinishedRunIsNotRepeated) {
  const TempFolder folder;
  LensSpec spec = pairs_spec(folder.file("lens.h5"));
  const ExperimentResult one = run_lens(spec);
  spec.output.resume = true;
  class Progress final : public ProgressListener {
   public:
    void update(const ProgressState&) override { ++updates; }
    int updates = 0;
  } progress;
  ExperimentContext context;
  context.progress = &progress;
  const ExperimentResult two = run_lens(spec, context);
  EXPECT_EQ(progress.updates, 0);
  EXPECT_EQ(two.sha256, one.sha256);
  ASSERT_EQ(two.prompt_records.size(), 3U);
  EXPECT_EQ(two.prompt_records[1].array("kl")->values, one.prompt_records[1].array("kl")->values);
  spec.top_k = 3;  // another run may not take its place
  EXPECT_THROW(run_lens(spec), Error);
}

TEST(RunLens, RefusesWhatIsOverTheBudget) {
  LensSpec spec = pairs_spec("");
  spec.compute.budget = 1000;
  try {
    run_lens(spec);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
  }
}

TEST(RunLens, PostNormModelsHaveALensAndNoAttribution) {
  LensSpec spec;
  spec.model = fixture("families/bert");
  spec.compute.device = "cpu";
  spec.pairs.ids = {{5, 40, 61, 7, 90}};
  const ExperimentResult result = run_lens(spec);
  ASSERT_EQ(result.prompt_records.size(), 1U);
  EXPECT_NE(result.prompt_records[0].array("kl"), nullptr);
  EXPECT_EQ(result.prompt_records[0].array("dla_heads"), nullptr);
  bool said = false;
  for (const std::string& line : result.warnings) {
    said = said || line.find("no direct attribution") != std::string::npos;
  }
  EXPECT_TRUE(said);
}

TEST(RunLens, StopsWhenAsked) {
  LensSpec spec = pairs_spec("");
  const std::atomic<bool> stop = true;
  ExperimentContext context;
  context.stop = &stop;
  try {
    run_lens(spec, context);
    FAIL() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
}

// What every experiment checks before it reads a weight.
TEST(ExperimentInputs, RefuseWhatTheModelCannotTake) {
  const TempFolder folder;
  const auto kind_of = [](const LensSpec& spec) {
    try {
      run_lens(spec);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  LensSpec spec;
  spec.model = kModel;
  spec.compute.device = "cpu";
  spec.pairs.ids = {{5, 1000000}};
  EXPECT_EQ(kind_of(spec), ErrorKind::input);
  spec.pairs.ids = std::vector<std::int64_t>(100000, 5);
  EXPECT_EQ(kind_of(spec), ErrorKind::input);
  spec = pairs_spec(folder.file("pairs.h5"));
  spec.pairs.pairs_file = folder.file("pairs.h5");
  std::ofstream(spec.pairs.pairs_file) << bytes_of(kPairs);
  EXPECT_NE(kind_of(spec), ErrorKind::internal);
  EXPECT_EQ(bytes_of(spec.pairs.pairs_file), bytes_of(kPairs));
}

}  // namespace
}  // namespace attnscope::testing
