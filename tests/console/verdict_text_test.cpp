#include "console/verdict_text.h"

#include <gtest/gtest.h>

#include "console/small_result.h"

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
  const auto first = text.find("\n0.1 ");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_LT(first, text.find("\n0.0 "));
  const std::string row = text.substr(first + 1, text.find('\n', first + 1) - first);
  EXPECT_NE(row.find("0.75"), std::string::npos) << row;
}

TEST(VerdictText, SaysWhyItIsWithheldAndWhatWasWritten) {
  ExperimentResult result = small_verdict();
  result.record.texts.push_back({"withheld", {}, {}, {"a control failed"}});
  result.path = "v.h5";
  result.html = "v.html";
  const std::string text = console::verdict_text(result);
  EXPECT_NE(text.find("withheld: a control failed"), std::string::npos);
  EXPECT_NE(text.find("Wrote v.h5 and v.html.\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace attnscope
