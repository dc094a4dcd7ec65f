#include "console/experiment_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/support/text.h"
#include "console/small_result.h"

namespace attnscope {
namespace {

constexpr TerminalStyle kPlain = {.color = ColorDepth::none, .columns = 100};

std::string text_of(const ExperimentResult& result) {
  return console::experiment_text(result, kPlain);
}

// The lines of `text` that begin with `start`.
std::vector<std::string> lines_with(const std::string& text, const std::string& start) {
  std::vector<std::string> found;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with(start)) found.push_back(line);
  }
  return found;
}

TEST(ExperimentText, UnitsStandByTheSizeOfTheirEffects) {
  const std::string text = text_of(testing::small_result());
  const auto first = text.find("0.1 ");
  const auto second = text.find("0.0 ");
  const auto third = text.find("1.0 ");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  const auto rows = lines_with(text, "0.1 ");
  ASSERT_EQ(rows.size(), 2U);  // one a method
  for (const char* part : {"2", "[1.5, 2.5]", "0.001", "0.003", "40"}) {
    EXPECT_NE(rows[0].find(part), std::string::npos) << rows[0];
  }
}

TEST(ExperimentText, SaysWhatWasMeasuredAndChecked) {
  const std::string text = text_of(testing::small_result());
  for (const char* part :
       {"40 prompts in 12 groups", "metric logit-diff, 3 without a change", "Noise floor 2.5e-07",
        "Run again by the slow loop: 3 cells, largest difference 1e-06", "120 cells/s",
        "Other methods: not run (mean-pos, resample, optimal)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("Wrote"), std::string::npos);
}

TEST(ExperimentText, EveryIntervalThatIsNotRegularHasItsReason) {
  const std::string text = text_of(testing::small_result());
  for (const char* part :
       {"No spread in 1 of 6 effects: every group of prompts has the same effect",
        "* A few groups of prompts carry 1 of 6 effects", "No number for 1 of 6 effects",
        "p is by turning their signs at random", "adjusted holds for\nall units"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("No interval and no p"), std::string::npos);
  const auto rows = lines_with(text, "0.1 ");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].find("[1.5, 2.5]*"), std::string::npos);
  EXPECT_NE(rows[1].find("[2, 4]*"), std::string::npos);
}

TEST(ExperimentText, FilesThatDoNotSayTheKindOfIntervalsGetNoReason) {
  ExperimentResult result = testing::small_result();
  result.record.integers.pop_back();
  EXPECT_EQ(text_of(result).find(" of 6 effects"), std::string::npos);
}

TEST(ExperimentText, HeadsFillAGrid) {
  const std::string text = text_of(testing::small_result());
  EXPECT_EQ(lines_with(text, "layer 0").size(), 2U);
  EXPECT_EQ(lines_with(text, "layer 1").size(), 2U);
}

TEST(ExperimentText, LayersByPositionsAreAMapWithTheRecoveryBeside) {
  const std::string text = text_of(testing::small_patch());
  EXPECT_NE(text.find("recovery"), std::string::npos);
  const auto rows = lines_with(text, "0@1 ");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NE(rows[0].find("4"), std::string::npos);
  EXPECT_NE(text.find("No interval and no p for 6 of 6 effects: 3 to 9 groups of prompts, at least "
                      "10 are needed"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("turning their signs"), std::string::npos);
  EXPECT_EQ(text.find("Other methods"), std::string::npos);
}

TEST(ExperimentText, MapsSayWhatTheirColumnsAndGapsAre) {
  ExperimentResult result = testing::small_patch();
  const std::string whole = text_of(result);
  EXPECT_NE(whole.find("effect by layer (rows) and position (columns), resid_pre"),
            std::string::npos)
      << whole;
  EXPECT_EQ(lines_with(whole, "  0 1 2").size(), 1U) << whole;
  EXPECT_EQ(whole.find("no value"), std::string::npos);
  result.record.arrays[0].values[1] = std::nan("");
  EXPECT_EQ(lines_with(text_of(result), "? no value").size(), 1U) << text_of(result);
}

TEST(ExperimentText, PositionsOfFewPromptsStandLastAndAreExplained) {
  ExperimentResult result = testing::small_patch();
  const auto line_of = [](const std::string& text, const std::string& cell) {
    return text.find("\n" + cell + " ");
  };
  result.record.arrays[0].values = {1, 2, 9, 3, 4, 8};
  result.record.integers.push_back({"n", {"method", "cell"}, {1, 6}, {40, 40, 40, 40, 40, 40}});
  const std::string equal = text_of(result);
  EXPECT_LT(line_of(equal, "0@2"), line_of(equal, "1@1"));
  EXPECT_EQ(equal.find("differ in length"), std::string::npos);
  result.record.integers.back().values = {40, 30, 5, 40, 30, 5};
  const std::string text = text_of(result);
  EXPECT_LT(line_of(text, "1@1"), line_of(text, "0@2"));
  EXPECT_LT(line_of(text, "0@0"), line_of(text, "0@2"));
  EXPECT_LT(line_of(text, "0@2"), line_of(text, "1@2"));
  EXPECT_NE(text.find("Prompts differ in length: position 1 is in 30 of 40 prompts, position 2 in "
                      "5."),
            std::string::npos)
      << text;
}

TEST(ExperimentText, NamesOfRecordsAreExplained) {
  ExperimentResult result = testing::small_patch();
  result.record.name = "patch_layer_pos";
  result.further_records = {testing::small_result().record};
  result.further_records[0].name = "patch_layer_head";
  const std::string text = text_of(result);
  EXPECT_TRUE(text.starts_with("patch by layer and position (patch_layer_pos) of tiny")) << text;
  EXPECT_EQ(lines_with(text, "patch by layer and head (patch_layer_head):").size(), 1U) << text;
}

TEST(ExperimentText, TheColumnOfWhatCouldBeSeenIsExplained) {
  ExperimentResult result = testing::small_result();
  EXPECT_EQ(text_of(result).find("could be seen"), std::string::npos);
  result.record.arrays.push_back(
      {"minimal_detectable", {"method", "cell"}, {2, 3}, {1, 1, 1, 1, 1, 1}});
  EXPECT_EQ(lines_with(text_of(result), "could be seen: the smallest effect").size(), 1U);
  EXPECT_EQ(text_of(result).find("largest over methods"), std::string::npos);
  // A verdict has one for all methods.
  result.record.arrays.back() = {"minimal_detectable", {"cell"}, {3}, {1, 1, 1}};
  EXPECT_NE(text_of(result).find("such runs; one number a unit, the largest over methods.\n"),
            std::string::npos);
}

TEST(ExperimentText, OnlyTheLargestOfManyAreListed) {
  ExperimentResult result = testing::small_result();
  ExperimentRecord& record = result.record;
  record.integers.clear();
  record.arrays.clear();
  NamedTexts names{"cells", {"cell"}, {100}, {}};
  NamedArray effects{"effect", {"method", "cell"}, {1, 100}, {}};
  for (int i = 0; i < 100; ++i) {
    names.values.push_back("s" + std::to_string(i));
    effects.values.push_back(i);
  }
  record.texts = {{"methods", {"method"}, {1}, {"zero"}}, names};
  record.arrays = {effects};
  const std::string text = text_of(result);
  EXPECT_NE(text.find("zero: the 15 largest of 100 effects"), std::string::npos) << text;
  EXPECT_EQ(lines_with(text, "s99").size(), 1U);
  EXPECT_EQ(lines_with(text, "s84").size(), 0U);
}

TEST(ExperimentText, TheSmallestPThatTheDrawsCanGiveIsABound) {
  ExperimentResult result = testing::small_result();
  result.record.spec_json = R"({"resamples": 10000})";
  for (NamedArray& array : result.record.arrays) {
    if (array.name == "p") array.values.assign(array.values.size(), 1.0 / 10001);
    if (array.name == "p_adjusted") array.values.assign(array.values.size(), 2.0 / 10001);
  }
  const std::string text = text_of(result);
  EXPECT_NE(text.find(" ≤0.0001 "), std::string::npos) << text;
  EXPECT_NE(text.find(" 0.0002 "), std::string::npos) << text;
  EXPECT_EQ(text.find("≤0.0002"), std::string::npos) << text;
}

TEST(ExperimentText, NamesOfAFileCannotHarmTheTerminal) {
  ExperimentResult result = testing::small_result();
  result.record.texts[1].values[0] = "\033[31m0.0";
  result.path = "a b.h5";
  const std::string text = text_of(result);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(text.find("attnscope export 'a b.h5' --figure grid -o figure.svg"), std::string::npos);
}

}  // namespace
}  // namespace attnscope
