#include "attnscope/render/effect_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "attnscope/support/error.h"
#include "render/sample_verdict.h"

namespace attnscope {
namespace {

using testing::sample_verdict;

std::string code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.code() + " " + error.what();
  }
  return "";
}

TEST(EffectView, ReadsByMethodAndCellAndByCell) {
  const VerdictReport report = sample_verdict();
  const EffectView table(report.record);
  ASSERT_EQ(table.cells(), 48);
  ASSERT_EQ(table.methods(), 3);
  const int strongest = 1 * 8 + 3;
  EXPECT_EQ(table.cell_name(strongest), "1.3");
  EXPECT_EQ(table.layer(strongest), 1);
  EXPECT_EQ(table.head(strongest), 3);
  EXPECT_EQ(table.position(strongest), -1);
  EXPECT_DOUBLE_EQ(table.effect(0, strongest), -3.25);
  EXPECT_DOUBLE_EQ(table.effect(1, strongest), -3.25 * 0.85);
  EXPECT_DOUBLE_EQ(table.number("direct", 2, strongest), 0.8 * -3.25);  // {"cell"}
  EXPECT_EQ(table.n(2, strongest), 200);
  EXPECT_EQ(table.verdict(strongest), VerdictLevel::causal);
  EXPECT_EQ(table.verdict(2 * 8 + 5), VerdictLevel::backed_up);
  EXPECT_TRUE(table.is_marked("unspecific", 3 * 8 + 1));
  EXPECT_FALSE(table.is_marked("unspecific", strongest));
  EXPECT_DOUBLE_EQ(table.attention(table.find_measure("mass", "--measure"), 4 * 8 + 6), 0.91);
  EXPECT_EQ(table.by_effect(0)[0], strongest);
  EXPECT_EQ(table.by_effect(0)[1], 3 * 8 + 1);
  EXPECT_EQ(table.by_effect(0)[2], 5 * 8 + 2);
}

// Of an exact p there is no smallest one.
TEST(EffectView, ShufflesBoundThePOfRankCorrelations) {
  VerdictReport report = sample_verdict();
  const EffectView table(report.record);
  EXPECT_DOUBLE_EQ(table.smallest_rank_p(0, 0), 1.0 / 1000);
  EXPECT_EQ(table.smallest_rank_p(0, 2), 0);
  std::erase_if(report.record.integers,
                [](const NamedIntegers& a) { return a.name == "rank_correlation_shuffles"; });
  EXPECT_EQ(table.smallest_rank_p(0, 0), 0);
}

TEST(EffectView, WhatIsNotThereIsMissing) {
  VerdictReport report = sample_verdict();
  report.record.integers.clear();
  std::erase_if(report.record.arrays, [](const NamedArray& a) { return a.name == "attention"; });
  // An array whose axes say otherwise is not read at all.
  const_cast<NamedArray*>(report.record.array("direct"))->dims = {"head"};
  const EffectView table(report.record);
  EXPECT_EQ(table.layer(0), -1);
  EXPECT_EQ(table.n(0, 0), -1);
  EXPECT_FALSE(table.verdict(0).has_value());
  EXPECT_TRUE(std::isnan(table.attention(0, 0)));
  EXPECT_TRUE(std::isnan(table.number("direct", 0, 0)));
  EXPECT_TRUE(std::isnan(table.number("no such array", 0, 0)));
}

TEST(EffectView, EffectsThatAreNoNumberComeLast) {
  VerdictReport report = sample_verdict();
  auto& effects = const_cast<NamedArray*>(report.record.array("effect"))->values;
  effects[11] = std::numeric_limits<double>::quiet_NaN();
  const EffectView table(report.record);
  EXPECT_EQ(table.by_effect(0).back(), 11);
  EXPECT_EQ(table.by_effect(0).front(), 25);
  // The other methods know this one; 0.4 is known under none.
  EXPECT_NE(table.by_largest_effect().back(), 11);
  for (const int method : {0, 1, 2}) {
    effects[static_cast<std::size_t>(method * 48 + 4)] = std::numeric_limits<double>::quiet_NaN();
  }
  effects[48 + 30] = -7;
  EXPECT_EQ(table.by_largest_effect().back(), 4);
  EXPECT_EQ(table.by_largest_effect().front(), 30);
}

TEST(EffectView, UnknownNamesAreRefusedWithTheNearest) {
  const VerdictReport report = sample_verdict();
  const EffectView table(report.record);
  EXPECT_EQ(table.find_method("", "--method"), 0);
  EXPECT_EQ(table.find_method("resample", "--method"), 2);
  const std::string text = code_of([&] { table.find_method("resampel", "--method"); });
  EXPECT_NE(text.find("RN07"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean \"resample\""), std::string::npos) << text;
  EXPECT_NE(text.find("--method"), std::string::npos) << text;
  EXPECT_NE(code_of([&] { table.find_measure("loudness", "--measure"); }).find("norm-weighted"),
            std::string::npos);
}

TEST(EffectView, RecordsWithoutEffectsAreRefused) {
  ExperimentRecord record{.name = "lens", .kind = "lens"};
  EXPECT_NE(code_of([&] { EffectView{record}; }).find("RN06"), std::string::npos);
  VerdictReport report = sample_verdict();
  const_cast<NamedArray*>(report.record.array("effect"))->shape = {3, 47};
  EXPECT_NE(code_of([&] { EffectView{report.record}; }).find("RN06"), std::string::npos);
}

}  // namespace
}  // namespace attnscope
