#include "attnscope/probes/demo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/probes/known_answer.h"
#include "attnscope/storage/reader.h"
#include "attnscope/support/error.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::TempFolder;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// One run for all tests: it takes seconds.
class Demo : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    result_ = new DemoResult(run_demo({.out = folder_->file("out")}, {}));
  }
  static void TearDownTestSuite() {
    delete result_;
    delete folder_;
  }
  static const DemoResult& result() { return *result_; }
  static std::string path(const std::string& name) { return folder_->file("out/" + name); }

 private:
  static TempFolder* folder_;
  static DemoResult* result_;
};
TempFolder* Demo::folder_ = nullptr;
DemoResult* Demo::result_ = nullptr;

TEST_F(Demo, KnownAnswerHeadsChangeWhatTheyWereBuiltToChange) {
  const KnownInductionTruth truth;
  ASSERT_EQ(result().known_answer.size(), truth.heads.size());
  for (std::size_t i = 0; i < truth.heads.size(); ++i) {
    const DemoHead& head = result().known_answer[i];
    EXPECT_EQ(head.head.layer, truth.heads[i].layer);
    EXPECT_EQ(head.head.head, truth.heads[i].head);
    EXPECT_NEAR(head.before, truth.metric, 1e-5);
    EXPECT_NEAR(head.change(), truth.heads[i].ablation_effect, 1e-5);
  }
  // The decoys change nothing at all, and one of them is the loudest: all its attention on BOS.
  EXPECT_EQ(result().known_answer[1].change(), 0);
  EXPECT_EQ(result().known_answer[3].change(), 0);
  EXPECT_NEAR(result().known_answer[1].loudness, 1, 1e-6);
  for (const std::size_t other : {0, 2, 3, 4}) {
    EXPECT_LT(result().known_answer[other].loudness, 0.9);
  }
  EXPECT_NEAR(result().known_answer[2].induction, truth.prefix_score, 1e-5);
  EXPECT_NE(result().story.find("The loudest head, 0.1, changes nothing"), std::string::npos);
  EXPECT_NE(result().story.find("The induction head, 1.0, changes everything"), std::string::npos);
}

TEST_F(Demo, TheTrainedModelAnswersBoth) {
  EXPECT_EQ(result().answer_to_list, " Kate");
  EXPECT_EQ(result().answer_to_sentence, " Anna");
  EXPECT_EQ(result().trained.size(), 32U);
  double best = 0;
  for (const DemoHead& head : result().trained) best = std::max(best, head.induction);
  EXPECT_GT(best, 0.5);
}

TEST_F(Demo, EveryFileIsThereAndNamed) {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(std::count(result().files.begin(), result().files.end(), name), 1) << name;
    ++found;
  }
  EXPECT_EQ(found, result().files.size());
  for (const std::string& name : result().files) {
    EXPECT_GT(std::filesystem::file_size(path(name)), 100U) << name;
    EXPECT_NE(result().story.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(content(path("list-induction-head.png")).substr(1, 3), "PNG");
  EXPECT_EQ(content(path("list-induction-head.svg")).substr(0, 4), "<svg");
}

TEST_F(Demo, CapturesHoldWhatTheStorySays) {
  const CaptureReader list(path("list.h5"));
  EXPECT_EQ(list.prompts(), 1);
  EXPECT_EQ(list.hooks(0).size(), 3U * 4);
  const CaptureReader known(path("known-answer.h5"));
  EXPECT_EQ(known.prompt(0).tokens.ids, known_induction_prompt());
  // 0.0 looks at the token before.
  const std::vector<float> map = known.read_map(0, {Site::pattern, 0}, 0);
  const std::size_t tokens = known_induction_prompt().size();
  for (std::size_t row = 1; row < tokens; ++row) {
    EXPECT_NEAR(map[row * tokens + row - 1], 1, 1e-3);
  }
}

TEST_F(Demo, TheBuiltModelCanBeOpenedAgain) {
  Warnings warnings;
  const Checkpoint written = open_checkpoint(path("known-answer-model.json"), {}, warnings);
  EXPECT_TRUE(warnings.lines().empty());
  const Checkpoint built = known_induction_model();
  EXPECT_EQ(written.config.n_layers, built.config.n_layers);
  EXPECT_EQ(written.config.layers[1].attention.n_heads, 3);
  EXPECT_EQ(written.tensors->tensors().size(), built.tensors->tensors().size());
  for (const TensorInfo& tensor : built.tensors->tensors()) {
    const TensorInfo* same = written.tensors->find(tensor.name);
    ASSERT_NE(same, nullptr) << tensor.name;
    ASSERT_EQ(same->bytes, tensor.bytes);
    std::vector<char> left(tensor.bytes), right(tensor.bytes);
    built.tensors->read(tensor, left.data(), tensor.bytes);
    written.tensors->read(*same, right.data(), tensor.bytes);
    EXPECT_EQ(left, right) << tensor.name;
  }
}

TEST_F(Demo, NothingIsReplacedWithoutForceAndForceRepeatsTheBytes) {
  try {
    run_demo({.out = path("")}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "DM01");
    EXPECT_EQ(error.exit_code(), 3);
  }
  const std::vector<std::string> repeated = {"list.h5", "known-answer.h5", "list-all-heads.png",
                                             "list-all-heads.svg", "known-answer-model.json"};
  std::vector<std::string> before;
  for (const std::string& name : repeated) before.push_back(content(path(name)));
  run_demo({.out = path(""), .force = true}, {});
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    EXPECT_EQ(content(path(repeated[i])), before[i]) << repeated[i];
  }
}

TEST_F(Demo, JsonHoldsTheNumbers) {
  const nlohmann::json json = nlohmann::json::parse(to_json(result()));
  EXPECT_EQ(json["known_answer"].size(), 5U);
  EXPECT_EQ(json["known_answer"][1]["head"], "0.1");
  EXPECT_EQ(json["known_answer"][1]["change"], 0);
  EXPECT_EQ(json["answer_to_sentence"], " Anna");
}

TEST(DemoStory, ComesInPartsAsItIsKnown) {
  const TempFolder folder;
  std::string said;
  int parts = 0;
  DemoContext context;
  context.say = [&](std::string_view part) {
    said += part;
    ++parts;
  };
  const DemoResult result = run_demo({.out = folder.file("out")}, context);
  EXPECT_EQ(said, result.story);
  EXPECT_EQ(parts, 5);
}

}  // namespace
}  // namespace attnscope
