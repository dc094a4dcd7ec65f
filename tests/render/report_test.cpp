#include "attnscope/render/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "render/sample_verdict.h"

namespace attnscope {
namespace {

using testing::sample_verdict;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int count_text(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// The first tag that is closed without having been opened, or the other way round; "" if none is.
std::string unbalanced_tag(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    std::string inside = html.substr(at + 1, end - at - 1);
    if (inside[0] == '!') continue;
    const bool closes = inside[0] == '/';
    const bool empty = inside.back() == '/';
    std::string name = inside.substr(closes ? 1 : 0);
    name = name.substr(0, name.find_first_of(" /"));
    if (empty || name == "meta") continue;
    if (!closes) {
      open.push_back(name);
      if (name == "style" || name == "script") at = html.find("</" + name, at) - 1;
      continue;
    }
    if (open.empty() || open.back() != name) return name;
    open.pop_back();
  }
  return open.empty() ? "" : open.back();
}

TEST(Report, ShowsTheFindingAndEveryHead) {
  const VerdictReport report = sample_verdict();
  const std::string html = verdict_report_html(report);
  EXPECT_EQ(unbalanced_tag(html), "");
  EXPECT_TRUE(holds(html, "the strongest head, 1.3, ranks 31st of 48 in attention."));
  EXPECT_TRUE(holds(html, "200 prompts</span>") || holds(html, "200 prompts in 100 groups"));
  for (const std::string& cell : report.record.text("cells")->values) {
    EXPECT_TRUE(holds(html, ">" + cell + "</td>") || holds(html, ">" + cell + " <span")) << cell;
  }
  EXPECT_TRUE(holds(html, "<b>3</b><span>causal</span>"));
  // As many as the sentences count: the backed-up one is undetermined too.
  const auto& levels = report.record.integer("verdict")->values;
  const auto open = std::count_if(levels.begin(), levels.end(), [](auto v) { return v < 0; });
  EXPECT_TRUE(holds(
      html, "<b>" + std::to_string(open) + "</b><span>undetermined, 1 of them backed up</span>"));
  EXPECT_TRUE(holds(html, "Bars are 95 % intervals that hold for all units at once"));
  EXPECT_TRUE(holds(html, "−3.250"));  // with a real minus sign
  EXPECT_TRUE(holds(html, "±0.050"));
  EXPECT_TRUE(holds(html, "[−0.020, 0.240]"));
  EXPECT_TRUE(holds(html, "Ceiling 0.710"));
  EXPECT_TRUE(holds(html, "A perfect measure would reach 0.830."));
  EXPECT_TRUE(holds(html, "<b>Rank correlation with the |effect| of zero</b>, within layers"));
  EXPECT_TRUE(holds(html, "[−0.020, 0.240]</span></td><td>0.0920</td>"));
  EXPECT_TRUE(holds(html, "<td>≤0.0010</td>"));  // 999 shuffles give no less
  // Beside the scatter with its ranks, and above the table of units.
  EXPECT_EQ(count_text(html,
                       "Effects, attention and verdicts are of the 98 prompts that nothing was "
                       "chosen on, rank correlations of all 200."),
            2);
  EXPECT_TRUE(holds(html, "<span>δ: causal takes an interval beyond it under two methods</span>"));
  EXPECT_TRUE(holds(html, "<th>detectable (largest over methods)</th>"));
  EXPECT_TRUE(holds(html, "<th>p adjusted (zero)</th>"));
  EXPECT_TRUE(holds(html, ">≤0.0003</td>"));  // 3332 draws
  EXPECT_EQ(count_text(html, "unspecific</span>"), 1);
  EXPECT_EQ(count_text(html, "class=\"tag passed\""), 2);
  EXPECT_TRUE(holds(html, "Halves were split by group"));
  EXPECT_EQ(html, verdict_report_html(report));
}

// A p by shuffles has a bound, an exact one has none.
TEST(Report, OnlyShufflesBoundTheP) {
  VerdictReport report = sample_verdict();
  auto& p = const_cast<NamedArray*>(report.record.array("rank_correlation_p"))->values;
  p[1] = p[2] = .0004;
  const std::string html = verdict_report_html(report);
  EXPECT_EQ(count_text(html, "<td>≤0.0004</td>"), 1);
  EXPECT_EQ(count_text(html, "<td>0.0004</td>"), 1);
}

// As on the console: the largest |effect| over methods.
TEST(Report, UnitsAreSortedByTheirLargestEffect) {
  VerdictReport report = sample_verdict();
  auto& effects = const_cast<NamedArray*>(report.record.array("effect"))->values;
  effects[1 * 48 + 5] = 9;  // 0.5, by the second method alone
  const std::string html = verdict_report_html(report);
  const std::size_t rows = html.find("<tbody>", html.find("Every unit"));
  EXPECT_EQ(html.find(">0.5</td>", rows), html.find("</td>", rows) - 4);
  EXPECT_LT(html.find(">0.5</td>", rows), html.find(">1.3</td>", rows));
  EXPECT_TRUE(holds(html, "The largest |effect| over methods first"));
}

// Offline, and nothing in it reaches out.
TEST(Report, NeedsNothingElse) {
  const std::string html = verdict_report_html(sample_verdict());
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import", "fetch("}) {
    EXPECT_FALSE(holds(html, outside)) << outside;
  }
  EXPECT_TRUE(holds(html, "default-src 'none'"));
}

TEST(Report, UntrustedTextIsEscapedEverywhere) {
  const std::string attack = "<script>alert(1)</script>\"'&\x1b[31m";
  VerdictReport report = sample_verdict();
  report.model.name = report.model.family = report.run.device = report.run.dtype =
      report.run.engine = report.record.metric = attack;
  report.model.weights_sha256 = "<b>\"x";
  for (NamedTexts& texts : report.record.texts) {
    for (std::string& value : texts.values) value = attack;
  }
  report.record.texts.push_back({"withheld", {}, {}, {attack}});
  const std::string html = verdict_report_html(report);
  EXPECT_EQ(count_text(html, "<script"), 1);  // ours
  EXPECT_FALSE(holds(html, "\x1b"));
  EXPECT_TRUE(holds(html, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_EQ(unbalanced_tag(html), "");
}

TEST(Report, AWithheldVerdictShowsNone) {
  VerdictReport report = sample_verdict();
  const std::string reason = "The known answer came out wrong.";
  report.record.texts.push_back({"withheld", {}, {}, {reason}});
  for (NamedTexts& text : report.record.texts) {
    if (text.name == "paragraph") text.values = {"The verdict is withheld. " + reason};
  }
  const std::string html = verdict_report_html(report);
  EXPECT_EQ(count_text(html, reason), 1);
  EXPECT_TRUE(holds(html, "class=\"card finding held\""));
  std::erase_if(report.record.texts, [](const NamedTexts& t) { return t.name == "paragraph"; });
  EXPECT_EQ(count_text(verdict_report_html(report), reason), 1);
  EXPECT_FALSE(holds(html, "class=\"tag causal\""));
  EXPECT_FALSE(holds(html, "<span>causal</span>"));
  EXPECT_TRUE(holds(html, "−3.250"));  // the estimates stay
}

TEST(Report, MissingPartsAreLeftOut) {
  VerdictReport report = sample_verdict();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::erase_if(report.record.arrays, [](const NamedArray& a) { return a.name != "effect"; });
  std::erase_if(report.record.texts,
                [](const NamedTexts& a) { return a.name != "cells" && a.name != "methods"; });
  report.record.attributes.clear();
  report.record.integers.clear();
  for (double& value : report.record.arrays[0].values) value = nan;
  const std::string html = verdict_report_html(report);
  EXPECT_EQ(unbalanced_tag(html), "");
  EXPECT_FALSE(holds(html, "nan"));
  EXPECT_FALSE(holds(html, "Attention against effect"));
  EXPECT_TRUE(holds(html, ">1.3</td>"));
}

}  // namespace
}  // namespace attnscope
