#include "attnscope/probes/verdict_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnscope/render/effect_view.h"
#include "attnscope/render/report.h"
#include "testing/pairwise_tau.h"
#include "worlds.h"

namespace attnscope {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

World strong_weak_and_idle() {
  return {{{.layer = 0, .total = -3, .direct = -3, .conditional = -3, .attention = .1},
           {.layer = 0, .attention = .9},
           {.layer = 1, .total = .3, .direct = .3, .conditional = .3, .attention = .5}},
          {.noise = .3, .given = {0}}};
}

TEST(VerdictRecord, HoldsWhatTheRuleSays) {
  World world = strong_weak_and_idle();
  const VerdictOptions options{.delta = 1, .noise_floor = 1e-6, .seed = 1, .draws = 1000};
  const VerdictResult result = judge(world.input, options);
  const ExperimentRecord record = verdict_record(world.input, options, result, "logit-diff");
  EXPECT_EQ(record.kind, "verdict");
  EXPECT_EQ(record.metric, "logit-diff");
  EXPECT_EQ(record.noise_floor, 1e-6);
  EXPECT_EQ(record.number_attribute("delta"), 1.0);
  EXPECT_EQ(record.text_attribute("strongest"), "0.0");
  const EffectView view(record);
  ASSERT_EQ(view.cells(), 3);
  ASSERT_EQ(view.methods(), 3);
  EXPECT_EQ(view.cell_name(2), "1.2");
  EXPECT_EQ(view.layer(2), 1);
  EXPECT_EQ(view.head(2), 2);
  // The planted effects are met within four standard errors of 60 prompts.
  EXPECT_NEAR(view.effect(0, 0), -3, 4 * .3 / std::sqrt(60.0));
  EXPECT_NEAR(view.effect(2, 2), .3, 4 * .3 / std::sqrt(60.0));
  EXPECT_NEAR(view.number("direct", 1, 0), -3, 4 * .3 / std::sqrt(60.0));
  EXPECT_NEAR(view.attention(0, 1), .9, 4 * .3 / std::sqrt(60.0));
  EXPECT_LT(view.number("ci_sim_low", 0, 0), view.effect(0, 0));
  EXPECT_EQ(view.n(0, 0), 60);
  EXPECT_EQ(view.verdict(0), VerdictLevel::causal);
  EXPECT_EQ(view.verdict(1), VerdictLevel::no_effect);
  EXPECT_EQ(view.verdict(2), VerdictLevel::no_effect);
  // Every method has its correlation with every measure.
  EXPECT_EQ(record.array("rank_correlation")->shape, (std::vector<std::int64_t>{3, 1}));
  for (const double tau : record.array("rank_correlation")->values) EXPECT_FALSE(std::isnan(tau));
}

// Who reads the file gets the stored correlations from effect_all and attention_all, and the
// stored effects from those of each prompt and the halves.
TEST(VerdictRecord, ItsNumbersFollowFromItsArrays) {
  std::vector<TrueUnit> units;
  for (int u = 0; u < 12; ++u) {
    units.push_back({.layer = u / 6, .total = .1 * (u % 5), .attention = .1 * (u * 7 % 6)});
  }
  World world(units, {.clusters = 24, .per_cluster = 3, .noise = .4, .given = {0}});
  world.input.attention.push_back({"focus", world.matrix(&TrueUnit::total)});
  const std::size_t prompts = world.input.cluster_of_prompt.size();
  world.input.attention[1].values[4 * prompts + 7] = std::nan("");  // this prompt is left out
  world.total(1, 3, 9) = std::nan("");                              // this effect is not known
  const VerdictOptions options{.delta = 1, .noise_floor = .05, .seed = 3, .draws = 500};
  const ExperimentRecord record =
      verdict_record(world.input, options, judge(world.input, options), "logit-diff");
  const NamedArray& effects = *record.array("effect_all");
  const NamedArray& attention = *record.array("attention_all");
  const NamedArray& taus = *record.array("rank_correlation");
  ASSERT_EQ(effects.shape, (std::vector<std::int64_t>{3, 12}));
  ASSERT_EQ(attention.shape, (std::vector<std::int64_t>{12, 2}));
  EXPECT_TRUE(std::isnan(effects.values[12 + 3]));
  for (std::size_t m = 0; m < 3; ++m) {
    std::vector<double> sizes;
    for (std::size_t u = 0; u < 12; ++u) {
      const double size = std::fabs(effects.values[m * 12 + u]);
      sizes.push_back(size <= record.noise_floor ? 0 : size);
    }
    for (std::size_t a = 0; a < 2; ++a) {
      std::vector<double> loudness;
      for (std::size_t u = 0; u < 12; ++u) loudness.push_back(attention.values[u * 2 + a]);
      EXPECT_NEAR(testing::pairwise_tau_b(loudness, sizes, record.integer("layers")->values),
                  taus.values[m * 2 + a], 1e-12);
    }
  }
  const std::vector<std::int64_t>& half = record.integer("half_of_prompt")->values;
  ASSERT_EQ(half.size(), prompts);
  EXPECT_EQ(record.integer_attribute("estimation_prompts"),
            std::count(half.begin(), half.end(), 1));
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t u = 0; u < 12; ++u) {
      double sum = 0, all = 0, n = 0;
      for (std::size_t p = 0; p < prompts; ++p) {
        all += world.total(m, u, p);
        if (half[p] == 0) continue;
        sum += world.total(m, u, p);
        ++n;
      }
      if (m == 1 && u == 3) continue;
      EXPECT_NEAR(record.array("effect")->values[m * 12 + u], sum / n, 1e-12);
      EXPECT_NEAR(effects.values[m * 12 + u], all / static_cast<double>(prompts), 1e-12);
    }
  }
}

// The p of values that tie is a share of shuffles, and that is said.
TEST(VerdictRecord, SaysWhichPOfRankCorrelationsAreOfShuffles) {
  const auto shuffles = [](double noise) {
    World world({{.total = -1, .attention = 1}, {.attention = 2}, {.attention = 3}},
                {.noise = noise, .given = {0}});
    const VerdictOptions options{.delta = .1, .seed = 1, .draws = 500};
    const ExperimentRecord record =
        verdict_record(world.input, options, judge(world.input, options), "logit-diff");
    return record.integer("rank_correlation_shuffles")->values;
  };
  EXPECT_EQ(shuffles(.1), std::vector<std::int64_t>(3, 0));
  EXPECT_EQ(shuffles(0), std::vector<std::int64_t>(3, 20000));
}

TEST(VerdictRecord, PromptsWithoutAnEffectAreCounted) {
  World world = strong_weak_and_idle();
  const std::vector<int> prompts =
      prompts_of(Half::estimation, world.input.half_of_cluster, world.input.cluster_of_prompt);
  for (int i = 0; i < 5; ++i) {
    world.total(1, 2, static_cast<std::size_t>(prompts[static_cast<std::size_t>(i)])) =
        std::nan("");
  }
  const VerdictOptions options{.delta = 1, .seed = 1, .draws = 500};
  const ExperimentRecord record =
      verdict_record(world.input, options, judge(world.input, options), "loss");
  EXPECT_EQ(EffectView(record).n(1, 2), 55);
  EXPECT_EQ(EffectView(record).n(0, 2), 60);
  EXPECT_EQ(record.integer("undefined")->values[1 * 3 + 2], 5);
}

TEST(VerdictRecord, AWithheldVerdictLeavesTheReason) {
  World world = strong_weak_and_idle();
  world.input.positive_control = ControlOutcome::failed;
  world.input.positive_control_note = "the planted head was not found";
  const VerdictOptions options{.delta = 1, .seed = 1, .draws = 500};
  const ExperimentRecord record =
      verdict_record(world.input, options, judge(world.input, options), "logit-diff");
  EXPECT_EQ(record.integer("verdict"), nullptr);
  ASSERT_NE(record.text("withheld"), nullptr);
  const std::string html = verdict_report_html({.prompts = 120, .record = record});
  EXPECT_TRUE(holds(html, "The verdict is withheld: "));
  const std::size_t reason = html.find("(the planted head was not found)");
  ASSERT_NE(reason, std::string::npos);
  EXPECT_EQ(html.find("(the planted head was not found)", reason + 1), std::string::npos);
  EXPECT_TRUE(holds(html, "class=\"tag failed\""));
}

const NamedTexts& details_of(const ExperimentRecord& record) {
  return *record.text("control_details");
}

TEST(VerdictRecord, HoldsTheSetsThatTheStrongestAreComparedWith) {
  World world = strong_weak_and_idle();
  JointEffect set = {.method = 0, .units = {0, 2}, .values = std::vector<double>(120, -4.0)};
  set.matched_wanted = 20;
  set.matched = {{1, 2}, {0, 1}};
  set.matched_effects = {.25, -3};
  world.input.joint = {set};
  const VerdictOptions options{.delta = 1, .seed = 1, .draws = 500};
  const ExperimentRecord record =
      verdict_record(world.input, options, judge(world.input, options), "logit-diff");
  EXPECT_EQ(record.text("matched_sets")->values, (std::vector<std::string>{"0.1+1.2", "0.0+0.1"}));
  EXPECT_EQ(record.array("matched")->values, set.matched_effects);
  EXPECT_DOUBLE_EQ(*record.number_attribute("matched_p"), 1.0 / 3);
  EXPECT_EQ(
      details_of(record).values.back(),
      "removing the 2 strongest together changes the metric by −4 logits, 2 random sets like "
      "them by −3 to 0.25 (median −1.38); p = 0.333, the smallest that so many sets can give; "
      "the sets hold 3 different heads, the most frequent in 2 of 2; the 2 were picked on the "
      "other half");
  EXPECT_EQ(record.integer_attribute("matched_units"), 3);
  EXPECT_EQ(record.integer_attribute("matched_most"), 2);
  // Three strongest of two layers with too few others.
  world.input.joint[0].units = {0, 1, 2};
  world.input.joint[0].matched.clear();
  world.input.joint[0].matched_effects.clear();
  EXPECT_EQ(details_of(verdict_record(world.input, options, judge(world.input, options), "loss"))
                .values.back(),
            "none: layer 0 holds 2 of the 3 strongest and only 0 others");
}

TEST(VerdictRecord, SaysHowManyCausalUnitsBeatRandomChanges) {
  World world({{.layer = 0, .total = -3}, {.layer = 0, .total = -3}, {.layer = 1}}, {.noise = .3});
  const VerdictOptions options{.delta = 1, .seed = 1, .draws = 500};
  const auto detail = [&] {
    return details_of(verdict_record(world.input, options, judge(world.input, options), "loss"))
        .values[2];
  };
  EXPECT_EQ(detail(), "not measured for 2 of 2 causal units (--controls says how many are drawn)");
  std::vector<double>& random = world.input.methods[0].random;
  random.assign(3 * 20, std::nan(""));
  for (int draw = 0; draw < 20; ++draw) {
    random[static_cast<std::size_t>(draw)] = .1;
    random[static_cast<std::size_t>(20 + draw)] = draw < 10 ? .1 : 9;  // half of them do more
  }
  EXPECT_EQ(detail(),
            "removing the unit does more than 95 % of 20 random changes of its output of the same "
            "size for 1 of 2 causal heads, more than all of them for 1");
}

// Nothing that was not computed counts as passed.
TEST(VerdictRecord, TooFewGroupsLeaveTheNegativeControlOpen) {
  World world({{.layer = 0, .total = -3}, {.layer = 0}}, {.clusters = 4, .noise = .3});
  const VerdictOptions options{.delta = 1, .seed = 1, .draws = 500};
  VerdictResult result = judge(world.input, options);
  result.negative_control_p = std::nan("");
  const ExperimentRecord record = verdict_record(world.input, options, result, "logit-diff");
  EXPECT_EQ(record.text("controls")->values[1], "answers swapped");
  EXPECT_EQ(record.text("control_results")->values[1], "reported");
  result.negative_control_p = 1e-4;
  EXPECT_EQ(
      verdict_record(world.input, options, result, "logit-diff").text("control_results")->values[1],
      "failed");
}

TEST(VerdictRecord, AControlThatDoesNotApplyIsNotRun) {
  for (const char* name : {"kl", "log-prob", "prob", "rank", "label-logit"}) {
    World world = strong_weak_and_idle();
    world.input.metric = parse_choice<MetricChoice>(name, "metric");
    const VerdictOptions options{.delta = 1, .seed = 1, .draws = 500};
    const ExperimentRecord record =
        verdict_record(world.input, options, judge(world.input, options), name);
    EXPECT_EQ(record.text("controls")->values[1], "answers swapped");
    EXPECT_EQ(record.text("control_results")->values[1], "not run");
    EXPECT_EQ(record.text("control_details")->values[1],
              std::string("the swap turns the sign of logit-diff alone, not of ") + name);
    EXPECT_EQ(record.text("withheld"), nullptr);
    const bool divergence = std::string(name) == "kl";
    for (const double p : record.array("p")->values) EXPECT_EQ(std::isnan(p), divergence);
    const NamedTexts* notes = record.text("notes");
    EXPECT_EQ(
        notes != nullptr && notes->values[0].find("kl cannot be negative") != std::string::npos,
        divergence);
  }
}

TEST(VerdictRecord, ItsPageShowsTheParagraphAndEveryUnit) {
  World world = strong_weak_and_idle();
  world.input.positive_control = ControlOutcome::passed;
  const VerdictOptions options{.delta = 1, .seed = 1, .draws = 500};
  const VerdictResult result = judge(world.input, options);
  const std::string html =
      verdict_report_html({.prompts = 120,
                           .clusters = 60,
                           .record = verdict_record(world.input, options, result, "logit-diff")});
  EXPECT_TRUE(holds(html, result.paragraph.substr(0, 30)));
  EXPECT_TRUE(holds(html, "120 prompts in 60 groups"));
  EXPECT_TRUE(holds(html, "<b>1</b><span>causal</span>"));
  EXPECT_TRUE(holds(html, "<b>2</b><span>no effect</span>"));
  EXPECT_TRUE(holds(html, "class=\"tag passed\""));
  EXPECT_TRUE(holds(html, "attention mass"));
  EXPECT_TRUE(holds(html,
                    "Effects, attention and verdicts are of the 60 prompts that nothing was "
                    "chosen on, rank correlations of all 120."));
  // What a measure is stands on the page, where it is told.
  EXPECT_FALSE(holds(html, "attention mass: what a row gives"));
  world.input.attention[0].meaning = "what a row gives";
  EXPECT_TRUE(holds(
      verdict_report_html({.record = verdict_record(world.input, options, result, "logit-diff")}),
      "<li>attention mass: what a row gives</li>"));
}

}  // namespace
}  // namespace attnscope
