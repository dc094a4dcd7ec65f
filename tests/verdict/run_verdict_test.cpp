// The whole verb on the demo model: stages, their shards, and what a stopped run leaves.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "attnscope/probes/verdict.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/error.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

namespace fs = std::filesystem;
const std::string kDemo = std::string(ATTNSCOPE_SOURCE_DIR) + "/probes/demo/";

VerdictSpec demo_spec(const std::string& out) {
  VerdictSpec spec;
  spec.model = kDemo + "tiny-english";
  spec.pairs.pairs_file = kDemo + "pairs/agreement.jsonl";
  spec.pairs.limit = 100;
  spec.compute.device = "cpu";
  spec.sweep.bootstrap = 500;
  spec.sweep.verify = 3;
  spec.output.out = out;
  return spec;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

// Inode and time of change of every committed shard.
std::map<std::string, std::pair<ino_t, std::int64_t>> shards_of(const std::string& out) {
  std::map<std::string, std::pair<ino_t, std::int64_t>> found;
  if (!fs::is_directory(out + ".parts")) return found;
  for (const auto& entry : fs::directory_iterator(out + ".parts")) {
    struct stat info {};
    if (entry.path().extension() != ".h5" || ::stat(entry.path().c_str(), &info) != 0) continue;
    found[entry.path().filename()] = {info.st_ino,
                                      info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec};
  }
  return found;
}

// Stops a run as soon as a stage has committed a shard, or ends it where it has one only.
class Stopper : public ProgressListener {
 public:
  Stopper(std::string stage, std::string out) : stage_(std::move(stage)), out_(std::move(out)) {}

  void update(const ProgressState& state) override {
    stages.insert(state.stage);
    const std::size_t shards = shards_of(out_).size();
    if (stage_.empty() || (!begun_ && !state.stage.starts_with(stage_))) return;
    if (!begun_) before_ = shards;
    begun_ = true;
    if (shards > before_) stop = true;
  }
  std::atomic<bool> stop = false;
  std::set<std::string> stages;

 private:
  std::string stage_, out_;
  bool begun_ = false;
  std::size_t before_ = 0;
};

std::string stopped_in(const VerdictSpec& spec, const std::string& stage) {
  Stopper stopper(stage, spec.output.out);
  ExperimentContext context;
  context.stop = &stopper.stop;
  context.progress = &stopper;
  try {
    run_verdict(spec, context);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    return error.what();
  }
  return "";
}

// Stopped after the first shard of every stage, and resumed: what was kept is never computed
// again, and the bytes are those of a run that was left alone.
TEST(RunVerdict, StoppedInEveryStageAndResumedIsTheSameFile) {
  const TempFolder folder;
  Stopper never("", folder.file("whole.h5"));
  ExperimentContext watched;
  watched.progress = &never;
  const ExperimentResult whole = run_verdict(demo_spec(folder.file("whole.h5")), watched);
  ASSERT_EQ(whole.stages.size(), 4U);
  // Five prompts a group, of which none is a copy of another.
  EXPECT_EQ(whole.clusters, 20);
  EXPECT_EQ(whole.record.integer("cluster_of_prompt")->values.back(), 19);
  EXPECT_EQ(never.stages.size(), 4U);
  EXPECT_TRUE(never.stages.contains("2 of 4: effects given another removed head"));
  VerdictSpec spec = demo_spec(folder.file("run.h5"));
  for (const char* stage : {"1 of 4", "2 of 4", "3 of 4"}) {
    const auto before = shards_of(spec.output.out);
    const std::string message = stopped_in(spec, stage);
    EXPECT_NE(message.find("--resume"), std::string::npos) << message;
    EXPECT_NE(message.find(" of 4: "), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(spec.output.out));
    const auto after = shards_of(spec.output.out);
    EXPECT_GT(after.size(), before.size()) << stage;
    for (const auto& [name, identity] : before) {
      ASSERT_TRUE(after.contains(name));
      EXPECT_EQ(after.at(name), identity) << name << " was written again";
    }
    spec.output.resume = true;
  }
  const ExperimentResult resumed = run_verdict(spec);
  EXPECT_TRUE(bytes_of(spec.output.out) == bytes_of(folder.file("whole.h5")));
  EXPECT_EQ(bytes_of(folder.file("run.html")), bytes_of(folder.file("whole.html")));
  EXPECT_TRUE(resumed.warnings.empty());
  EXPECT_FALSE(fs::exists(spec.output.out + ".parts"));
  EXPECT_TRUE(verify_file(spec.output.out).findings.empty());
}

// Every sweep of the further questions has stages of its own.
TEST(RunVerdict, KvGroupsAndRandomWeightsAreStagesToo) {
  VerdictSpec spec = demo_spec("");
  spec.pairs.limit = 20;
  spec.layers = "3";
  spec.kv_groups = true;
  spec.control_model = true;
  spec.output.dry_run = true;
  const ExperimentResult plan = run_verdict(spec);
  EXPECT_EQ(plan.stages.size(), 4U + 2U + 4U);
  EXPECT_NE(plan.plan.find("5 of 10: random weights: effects of every head"), std::string::npos);
  EXPECT_NE(plan.plan.find("7 of 10: effects of every kv group"), std::string::npos);
  EXPECT_EQ(plan.model, "tiny-english");
  EXPECT_EQ(plan.device, "cpu");
  EXPECT_EQ(plan.dtype, "f32");
  // 8 heads × 3 methods on all prompts; with each of 5 removed, 7 others on half of them.
  EXPECT_EQ(plan.stages[0].runs, 8 * 3 * 20);
  EXPECT_EQ(plan.stages[1].runs, 5 * 7 * 3 * 10);
  EXPECT_EQ(plan.stages[2].runs, 8 * 20 * 10);
  EXPECT_EQ(plan.stages[3].runs, (1 + 20) * 10);
  for (const PlannedStage& stage : plan.stages) {
    EXPECT_GT(stage.flops, 0) << stage.name;
    EXPECT_GT(stage.memory_bytes, 0U) << stage.name;
  }
  spec.output.dry_run = false;
  Stopper watch("", "");
  ExperimentContext context;
  context.progress = &watch;
  const ExperimentResult result = run_verdict(spec, context);
  for (const std::string& stage : watch.stages) {
    const auto number = static_cast<std::size_t>(std::stoi(stage));
    EXPECT_EQ(stage, std::to_string(number) + " of 10: " + plan.stages[number - 1].name);
  }
  EXPECT_EQ(result.record.text("controls")->values.back(), "random weights");
  EXPECT_EQ(result.record.text("control_results")->values.back(), "reported");
}

// A control that cannot be had costs none of the results.
TEST(RunVerdict, AControlModelWithoutADeltaIsReportedAsMissing) {
  const TempFolder folder;
  VerdictSpec spec = demo_spec(folder.file("v.h5"));
  spec.pairs.limit = 6;
  spec.compute.seed = 1;
  spec.layers = "3";
  spec.metric.metric = MetricChoice::top1_change;
  spec.methods = "zero,resample";
  spec.control_model = true;
  // δ comes from one prompt here. Random weights answer its corrupt twin as they answer it.
  const ExperimentResult result = run_verdict(spec);
  EXPECT_TRUE(fs::exists(folder.file("v.h5")));
  EXPECT_EQ(result.record.text("controls")->values.back(), "random weights");
  EXPECT_EQ(result.record.text("control_results")->values.back(), "not available");
  EXPECT_NE(result.record.text("control_details")->values.back().find("cannot be derived"),
            std::string::npos);
}

}  // namespace
}  // namespace attnscope::testing
