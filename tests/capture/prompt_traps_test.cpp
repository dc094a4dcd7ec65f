// Prompts as people write them, through the whole of capture.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "capture_case.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::caught;
using testing::spec_for;
using testing::TempFolder;

class PromptTraps : public ::testing::Test {
 protected:
  CaptureSpec spec(const std::string& prompts, std::string_view content) {
    std::ofstream(folder_.file(prompts), std::ios::binary) << content;
    CaptureSpec s = spec_for("models/tiny-random-gpt2", folder_.file("run.h5"));
    s.prompts.prompts_file = folder_.file(prompts);
    s.output.force = true;
    return s;
  }
  TempFolder folder_;
};

TEST_F(PromptTraps, BadLinesNameFileAndLine) {
  const std::string long_line(3000, 'x');
  for (const auto& [content, line] : std::vector<std::pair<std::string, std::string>>{
           {"{\"text\": \"ok\"}\nno json\n", "p.jsonl:2"},
           {"{\"text\": \"ok\"}\n{\"ids\": [5, 1000]}\n", "p.jsonl:2"},
           {"{\"text\": \"ok\"}\n\n{\"text\": \"\"}\n", "p.jsonl:3"},
           {"{\"text\": \"" + long_line + "\"}\n", "p.jsonl:1"}}) {
    const auto error = caught([&] { run_capture(spec("p.jsonl", content)); });
    EXPECT_EQ(error.exit_code, 2) << error.message;
    EXPECT_NE(error.message.find(line), std::string::npos) << error.message;
  }
}

TEST_F(PromptTraps, SkipBadCountsThemAll) {
  CaptureSpec s = spec("p.jsonl",
                       "{\"text\": \"one\"}\nno json\n{\"ids\": [5, 1000]}\n"
                       "{\"text\": \"two\", \"label\": \"L\"}\n{\"text\": \"" +
                           std::string(3000, 'x') + "\"}\n");
  s.prompts.skip_bad = true;
  const CaptureResult result = run_capture(s);
  EXPECT_EQ(result.prompts_skipped, 3);
  ASSERT_EQ(result.plan.prompts.size(), 2u);
  ASSERT_FALSE(result.warnings.empty());
  const CaptureReader file(s.output.out, {.trust = Trust::own});
  EXPECT_EQ(file.prompt(1).text, "two");
  EXPECT_EQ(file.prompt(1).label, "L");
}

TEST_F(PromptTraps, ColumnsAreStoredWithThePrompt) {
  const CaptureSpec s = spec("p.csv", "text,group,answer\nWhen Mary,g1, Mary\n\"a, b\",g2,x\n");
  run_capture(s);
  const CaptureReader file(s.output.out, {.trust = Trust::own});
  ASSERT_EQ(file.prompts(), 2);
  EXPECT_EQ(file.prompt(0).group, "g1");
  ASSERT_EQ(file.prompt(0).columns.size(), 1u);
  EXPECT_EQ(file.prompt(0).columns[0].first, "answer");
  EXPECT_EQ(std::get<std::string>(file.prompt(0).columns[0].second), " Mary");
  EXPECT_EQ(file.prompt(1).text, "a, b");
}

TEST_F(PromptTraps, PositionsByWordAreFoundInEachPrompt) {
  CaptureSpec s = spec("p.txt", "the cat and the cat\na cat\n");
  s.positions = "\"cat\"";
  const CaptureResult result = run_capture(s);
  for (std::size_t p = 0; p < 2; ++p) {
    std::string text;
    for (const int i : result.plan.positions[p]) {
      text += result.plan.prompts[p].token_texts[static_cast<std::size_t>(i)];
    }
    EXPECT_EQ(text, p == 0 ? " cat cat" : " cat");
  }
  s.positions = "\"dog\"";
  EXPECT_EQ(caught([&] { run_capture(s); }).exit_code, 2);
}

TEST_F(PromptTraps, AModelWithoutTokenizerTakesIdsOnly) {
  CaptureSpec s = spec_for("families/llama", folder_.file("run.h5"));
  s.prompts.prompt = "hello";
  const auto error = caught([&] { run_capture(s); });
  EXPECT_EQ(error.exit_code, 2);
  EXPECT_NE(error.message.find("--ids"), std::string::npos) << error.message;
}

TEST_F(PromptTraps, ATokenizerLargerThanTheModelIsSaid) {
  const std::string model = folder_.file("model");
  std::filesystem::copy(testing::fixture("models/tiny-random-gpt2"), model);
  auto tokenizer = nlohmann::json::parse(testing::bytes_of(model + "/tokenizer.json"));
  tokenizer["added_tokens"].push_back({{"id", 1000},
                                       {"content", "<new>"},
                                       {"single_word", false},
                                       {"lstrip", false},
                                       {"rstrip", false},
                                       {"normalized", false},
                                       {"special", true}});
  std::ofstream(model + "/tokenizer.json") << tokenizer.dump();
  CaptureSpec s = spec("p.txt", "the cat\n");
  s.model = model;
  std::string warnings;
  for (const std::string& line : run_capture(s).warnings) warnings += line + "\n";
  EXPECT_NE(warnings.find("only 1000"), std::string::npos) << warnings;
  s.prompts = {.prompt = "the <new>"};
  EXPECT_EQ(caught([&] { run_capture(s); }).exit_code, 2);
}

// A character of several bytes, split over tokens: each token keeps its own bytes.
TEST_F(PromptTraps, PartsOfCharactersKeepTheirBytes) {
  const std::string text = "x \xE2\x82\xAC \xE2\x98\x83\xE4\xB8\xAD";
  const CaptureSpec s = spec("p.txt", text + "\n");
  const CaptureResult result = run_capture(s);
  std::string joined;
  for (const std::string& bytes : result.plan.prompts[0].token_bytes) joined += bytes;
  EXPECT_EQ(joined, text);
  EXPECT_GT(result.plan.prompts[0].size(), 4u);
}

}  // namespace
}  // namespace attnscope
