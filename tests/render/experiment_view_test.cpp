#include "attnscope/render/experiment_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "attnscope/render/picture.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "render/sample_verdict.h"

namespace attnscope {
namespace {

using testing::sample_verdict;

int exit_code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.exit_code();
  }
  return 0;
}

int count_text(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Layers 0, 2 × positions 1, 3, written in another order, and a cell of no position.
ExperimentRecord patch_record() {
  ExperimentRecord record{.name = "patch", .kind = "patch", .metric = "logit-diff"};
  record.texts = {{"methods", {"method"}, {1}, {"resid_pre"}},
                  {"cells", {"cell"}, {5}, {"2@3", "0@1", "2@1", "0@3", "mlp:1"}}};
  record.arrays = {{"effect", {"method", "cell"}, {1, 5}, {4, 1, 3, -2, 9}}};
  record.integers = {{"layers", {"cell"}, {5}, {2, 0, 2, 0, 1}},
                     {"heads", {"cell"}, {5}, {-1, -1, -1, -1, -1}},
                     {"positions", {"cell"}, {5}, {3, 1, 1, 3, -1}}};
  return record;
}

// Of what the record holds, and of nothing else.
TEST(ExperimentView, SaysOfWhichPromptsAVerdictIs) {
  VerdictReport report = sample_verdict();
  EXPECT_EQ(
      prompts_used(EffectView(report.record)),
      "Effects, attention and verdicts are of the 98 prompts that nothing was chosen on, rank "
      "correlations of all 200.");
  std::erase_if(report.record.integers, [](const auto& a) { return a.name == "verdict"; });
  EXPECT_EQ(prompts_used(EffectView(report.record)),
            "Effects and attention are of the 98 prompts that nothing was chosen on, rank "
            "correlations of all 200.");
  std::erase_if(report.record.texts, [](const auto& a) { return a.name == "measures"; });
  std::erase_if(report.record.arrays, [](const auto& a) { return a.name == "rank_correlation"; });
  EXPECT_EQ(prompts_used(EffectView(report.record)),
            "Effects are of the 98 of 200 prompts that nothing was chosen on.");
  report.record.attributes.erase("estimation_prompts");
  EXPECT_EQ(prompts_used(EffectView(report.record)), "");
}

TEST(ExperimentView, TheGridHasLayersDownwardsAndHeadsAcross) {
  const VerdictReport report = sample_verdict();
  const EffectView table(report.record);
  const HeatMap map = effect_grid(table, 0);
  ASSERT_EQ(map.rows, 6);
  ASSERT_EQ(map.columns, 8);
  EXPECT_FLOAT_EQ(map.at(1, 3), -3.25F);
  EXPECT_FLOAT_EQ(map.at(5, 2), 0.85F);
  // Zero lies in the middle of the colours.
  EXPECT_DOUBLE_EQ(map.drawn_scale().place(0), 0.5);
  EXPECT_DOUBLE_EQ(map.drawn_scale().low, -3.25);
  EXPECT_FLOAT_EQ(attention_grid(table, 0).at(4, 6), 0.91F);
}

TEST(ExperimentView, HeadsThatWereNotMeasuredAreMissingAndGroupsAreNotMixedIn) {
  ExperimentRecord record{.name = "ablate", .kind = "ablate", .metric = "loss"};
  record.texts = {{"methods", {"method"}, {1}, {"zero"}},
                  {"cells", {"cell"}, {4}, {"0.0", "1.1", "kv:0.0", "0.0@4"}}};
  record.arrays = {{"effect", {"method", "cell"}, {1, 4}, {1, 2, 50, 60}}};
  record.integers = {{"layers", {"cell"}, {4}, {0, 1, 0, 0}},
                     {"heads", {"cell"}, {4}, {0, 1, 0, 0}},
                     {"positions", {"cell"}, {4}, {-1, -1, -1, 4}}};
  const EffectView table(record);
  const HeatMap map = effect_grid(table, 0);
  ASSERT_EQ(map.values.size(), 4U);
  EXPECT_EQ(map.at(0, 0), 1);
  EXPECT_TRUE(std::isnan(map.at(0, 1)));
  EXPECT_TRUE(std::isnan(map.at(1, 0)));
  EXPECT_EQ(map.at(1, 1), 2);
}

TEST(ExperimentView, ThePatchMapIsLabelledWithTokens) {
  const ExperimentRecord record = patch_record();
  const HeatMap map = patch_map(EffectView(record), 0, {"<s>", " When", " Mary", ""});
  ASSERT_EQ(map.rows, 2);
  ASSERT_EQ(map.columns, 2);
  EXPECT_EQ(map.values, (std::vector<float>{1, -2, 3, 4}));
  EXPECT_EQ(map.row_labels, (std::vector<std::string>{"0", "2"}));
  // Position 3 differs between the prompts, so its number stands there.
  EXPECT_EQ(map.column_labels, (std::vector<std::string>{" When", "@3"}));
  // Without any token numbers need no mark.
  EXPECT_EQ(patch_map(EffectView(record), 0, {}).column_labels,
            (std::vector<std::string>{"1", "3"}));
}

TEST(ExperimentView, FiguresThatCannotBeDrawnAreRefused) {
  const ExperimentRecord patch = patch_record();
  const VerdictReport report = sample_verdict();
  EXPECT_EQ(exit_code_of([&] { effect_grid(EffectView(patch), 0); }), 2);
  EXPECT_EQ(exit_code_of([&] { attention_scatter(EffectView(patch), 0, 0); }), 2);
  EXPECT_EQ(exit_code_of([&] { patch_map(EffectView(report.record), 0, {}); }), 2);
}

TEST(ExperimentView, TheScatterMarksVerdicts) {
  const VerdictReport report = sample_verdict();
  const EffectView table(report.record);
  ScatterPlot plot = attention_scatter(table, 0, 0);
  ASSERT_EQ(plot.points.size(), 48U);
  EXPECT_EQ(plot.band, 0.05);
  const ScatterPoint& strongest = plot.points[11];
  EXPECT_DOUBLE_EQ(strongest.x, 0.22);
  EXPECT_DOUBLE_EQ(strongest.y, -3.25);
  EXPECT_LT(strongest.low, -3.25);
  EXPECT_GT(strongest.high, -3.25);
  EXPECT_EQ(strongest.mark, PointMark::causal);
  EXPECT_EQ(plot.points[38].mark, PointMark::no_effect);
  EXPECT_EQ(plot.points[21].mark, PointMark::undetermined);
  // Filled discs for causal units and one in the legend, rings for undetermined ones.
  int causal = 1, undetermined = 1;
  for (const ScatterPoint& point : plot.points) {
    causal += point.mark == PointMark::causal ? 1 : 0;
    undetermined += point.mark == PointMark::undetermined ? 1 : 0;
  }
  const std::string svg = draw_picture(plot, PictureFormat::svg);
  EXPECT_EQ(count_text(svg, "<circle"), causal + undetermined);
  EXPECT_EQ(count_text(svg, "stroke-width=\"1.5\"/>") + count_text(svg, "stroke-width=\"1.5\">"),
            undetermined);
  // A cross has two strokes; the legend shows one as well.
  EXPECT_EQ(count_text(svg, "stroke-width=\"1.5\" stroke-linecap"),
            2 * (48 + 3 - causal - undetermined));
  EXPECT_NE(svg.find("<title>1.3: effect -3.25, attention 0.22</title>"), std::string::npos);
  EXPECT_NE(svg.find("band: effects from -0.05 to 0.05"), std::string::npos);
  EXPECT_EQ(svg, draw_picture(plot, PictureFormat::svg));
  EXPECT_EQ(draw_picture(plot, PictureFormat::png).substr(1, 3), "PNG");
}

TEST(ExperimentView, AScatterOfOddPointsIsDrawn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  ScatterPlot plot;
  plot.title = "</svg><script>";
  EXPECT_EQ(draw_picture(plot, PictureFormat::png).substr(1, 3), "PNG");
  plot.points = {{.x = 1, .y = 2}, {.x = nan, .y = 1}, {.x = 1, .y = infinity}};
  const std::string svg = draw_picture(plot, PictureFormat::svg);
  EXPECT_EQ(count_text(svg, "<circle"), 1);
  EXPECT_EQ(count_text(svg, "<script"), 0);
  EXPECT_EQ(count_text(svg, "nan"), 0);
}

TEST(ExperimentView, TheTableHasALineForEachCellAndMethod) {
  const VerdictReport report = sample_verdict();
  const std::string csv = to_csv(EffectView(report.record));
  const std::vector<std::string> lines = split(csv, '\n');
  ASSERT_EQ(lines.size(), 1U + 48 * 3 + 1);
  EXPECT_EQ(
      lines[0],
      "cell,layer,head,position,method,effect,ci_sim_low,ci_sim_high,p_adjusted,minimal_detectable,"
      "direct,n,verdict,mass,max,entropy,norm-weighted,source\r");
  const std::vector<std::string> strongest = split(lines[1 + 11 * 3], ',');
  EXPECT_EQ(strongest[0], "1.3");
  EXPECT_EQ(strongest[3], "");
  EXPECT_EQ(strongest[4], "zero");
  EXPECT_EQ(strongest[5], "-3.25");
  EXPECT_EQ(strongest[11], "200");
  EXPECT_EQ(strongest[12], "causal");
  EXPECT_EQ(strongest[13], "0.22");
  // The first head has no interval.
  EXPECT_EQ(split(lines[1], ',')[6], "");
}

TEST(ExperimentView, TheTableSaysWhyAnIntervalIsMissing) {
  VerdictReport report = sample_verdict();
  std::vector<std::int64_t> kinds(3 * 48, 0);
  kinds[0] = -1;
  report.record.integers.push_back({"interval_kind", {"method", "cell"}, {3, 48}, kinds});
  const std::vector<std::string> lines = split(to_csv(EffectView(report.record)), '\n');
  EXPECT_EQ(split(lines[0], ',')[12], "interval_kind");
  EXPECT_EQ(split(lines[1], ',')[12], "-1");
  EXPECT_EQ(split(lines[2], ',')[12], "0");
  EXPECT_EQ(split(lines[0], ',')[13], "verdict");
}

}  // namespace
}  // namespace attnscope
