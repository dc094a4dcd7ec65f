#include "console/verdict_text.h"

#include <gtest/gtest.h>

#include "attnscope/render/label.h"
#include "attnscope/support/text.h"
#include "console/small_result.h"
#include "console/wrap.h"

namespace attnscope {
namespace {

ExperimentResult small_verdict() {
  ExperimentResult result = testing::small_result();
  ExperimentRecord& record = result.record;
  record.kind = "verdict";
  record.integers.push_back({"verdict", {"cell"}, {3}, {1, -1, 0}});
  record.integers.push_back({"unspecific", {"cell"}, {3}, {1, 0, 0}});
  record.texts.push_back({"paragraph", {}, {}, {"Attention is a poor guide."}});
  record.texts.push_back({"measures", {"measure"}, {1}, {"attention mass"}});
  record.arrays.push_back({"attention", {"cell", "measure"}, {3, 1}, {0.25, 0.75, 0.125}});
  record.arrays.push_back({"rank_correlation", {"method", "measure"}, {2, 1}, {0.25, -0.5}});
  record.arrays.push_back({"rank_correlation_low", {"method", "measure"}, {2, 1}, {0.125, -0.75}});
  record.arrays.push_back({"rank_correlation_high", {"method", "measure"}, {2, 1}, {0.375, -0.25}});
  record.arrays.push_back({"rank_correlation_p", {"method", "measure"}, {2, 1}, {0.092, 0.001}});
  record.integers.push_back({"rank_correlation_shuffles", {"method", "measure"}, {2, 1}, {0, 999}});
  record.attributes["prompts"] = std::int64_t{20};
  record.attributes["estimation_prompts"] = std::int64_t{10};
  record.texts.push_back({"controls", {"control"}, {1}, {"known answer"}});
  record.texts.push_back({"control_results", {"control"}, {1}, {"passed"}});
  record.texts.push_back({"control_details", {"control"}, {1}, {"as planted"}});
  return result;
}

TEST(VerdictText, TheFindingThenOneTableThenTheControls) {
  const std::string text = console::verdict_text(small_verdict());
  EXPECT_TRUE(text.starts_with("Attention is a poor guide.\n")) << text;
  const auto table = text.find("All 3 heads");
  const auto controls = text.find("known answer");
  ASSERT_NE(table, std::string::npos) << text;
  ASSERT_NE(controls, std::string::npos) << text;
  EXPECT_LT(table, controls);
  EXPECT_NE(text.find("causal, unspecific"), std::string::npos);
  EXPECT_EQ(text.find("Wrote"), std::string::npos);
  EXPECT_EQ(text.find("withheld"), std::string::npos);
}

// 0.1 has the largest effect of all, and its row its attention.
TEST(VerdictText, TheStrongestUnitStandsFirst) {
  const std::string text = console::verdict_text(small_verdict());
  EXPECT_NE(text.find("All 3 heads, by the largest |effect| over methods: "), std::string::npos);
  const auto first = text.find("\n0.1 ");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_LT(first, text.find("\n0.0 "));
  const std::string row = text.substr(first + 1, text.find('\n', first + 1) - first);
  EXPECT_NE(row.find("0.75"), std::string::npos) << row;
}

TEST(VerdictText, RankCorrelationsHaveTheirP) {
  const std::string text = console::verdict_text(small_verdict());
  EXPECT_NE(text.find("\nmeasure         |effect| of   τ-b  95 % interval        p\n"
                      "attention mass  zero         0.25  [0.125, 0.375]   0.092\n"
                      "attention mass  mean         -0.5  [-0.75, -0.25]  ≤0.001\n\n"
                      "Effects, attention and verdicts are of the 10 prompts that nothing was "
                      "chosen on, rank correlations of all 20.\n\n"),
            std::string::npos)
      << text;
}

TEST(VerdictText, SentencesFitTheColumns) {
  ExperimentResult result = small_verdict();
  const auto set = [&](const char* name, const std::string& value) {
    for (NamedTexts& text : result.record.texts) {
      if (text.name == name) text.values = {value};
    }
  };
  std::string words;
  for (int i = 0; i < 40; ++i) words += "τ-b is " + std::to_string(i) + " ";
  set("paragraph", words + "x");
  set("control_details", words + "y");
  const std::string text = console::verdict_text(result, 60);
  EXPECT_EQ(text.find(words), std::string::npos);
  int lines = 0;
  for (const std::string& line : split(text, '\n')) {
    if (line.find("τ-b is") == std::string::npos) continue;
    EXPECT_LE(display_width(line), 60) << line;
    ++lines;
  }
  EXPECT_GE(lines, 12);
  // Further lines of a control stand under its first.
  EXPECT_NE(text.find("\nknown answer  passed  τ-b is 0"), std::string::npos) << text;
  EXPECT_NE(text.find("\n" + std::string(22, ' ')), std::string::npos) << text;
  EXPECT_NE(console::verdict_text(result).find(words), std::string::npos);
}

TEST(Wrap, BreaksAtSpacesAndLosesNothing) {
  EXPECT_EQ(console::wrapped_lines("one two three", 7),
            (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(console::wrapped_lines("a longerthanall b", 4),
            (std::vector<std::string>{"a", "longerthanall", "b"}));
  // Five columns, though nine bytes.
  EXPECT_EQ(console::wrapped_lines("τ τ τ", 5), (std::vector<std::string>{"τ τ τ"}));
  EXPECT_EQ(console::wrapped_lines("as  it is", 0), (std::vector<std::string>{"as  it is"}));
  EXPECT_EQ(console::wrapped("one two\nthree\n", 4), "one\ntwo\nthree\n");
  EXPECT_EQ(console::wrapped("", 4), "");
}

TEST(VerdictText, SaysWhyItIsWithheldAndWhatWasWritten) {
  ExperimentResult result = small_verdict();
  result.record.texts.push_back({"withheld", {}, {}, {"a control failed"}});
  std::erase_if(result.record.texts, [](const NamedTexts& t) { return t.name == "paragraph"; });
  result.path = "v.h5";
  result.html = "v.html";
  const std::string text = console::verdict_text(result);
  EXPECT_TRUE(text.starts_with("a control failed\n")) << text;
  EXPECT_NE(text.find("Wrote v.h5 and v.html.\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace attnscope
