#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "attnscope/probes/verdict_rule.h"
#include "attnscope/support/text.h"
#include "worlds.h"

namespace attnscope {
namespace {

VerdictOptions with_delta(double delta) {
  return {.delta = delta, .seed = 1, .draws = 500};
}

// Numbers without spread, so that every word is known.
TEST(VerdictSentences, LoudAndStrongAreDifferentHeads) {
  World world(
      {{0, 0, 0, 0, 0, 5}, {0, -3.2, -3.2, -3.2, 0, 1}, {0, 0, 0, 0, 0, 4}, {0, 0, 0, 0, 0, 3}},
      {.given = {1}});
  world.input.positive_control = ControlOutcome::passed;
  const VerdictResult got = judge(world.input, with_delta(.05));
  // Of four heads any of the places of the one with an effect is as likely: half of them rank as
  // well as this one, in one direction or the other.
  for (const AttentionResult& rank : got.attention) EXPECT_NEAR(rank.p, .5, .1);
  const auto p_of = [&](std::size_t m) { return format_number(got.attention[m].p, 3); };
  EXPECT_EQ(
      got.paragraph.substr(0, got.paragraph.find(" With answer")),
      "On these 120 prompts attention mass points the wrong way: within layers its rank "
      "correlation with the |effect| of zero is τ-b −0.707 [−0.707, −0.707] (although p = " +
          p_of(0) +
          " over heads). With the |effect| of mean it is −0.707 [−0.707, "
          "−0.707] (although p = " +
          p_of(1) +
          " over heads), points the wrong way; with that of resample −0.707 "
          "[−0.707, −0.707] (although p = " +
          p_of(2) +
          " over heads), points the wrong way. On the 60 of them that nothing was chosen on, the "
          "loudest head, 0.0, has no effect larger than ±0.05 logits; the strongest head, 0.1 "
          "(−3.2 logits), ranks 4th of 4 in attention; of 4 heads 1 is causal, 3 without effect, "
          "0 undetermined. The model "
          "with planted heads that is judged beside it "
          "came out as planted.");
  EXPECT_NE(got.paragraph.find(" With answer and wrong answer swapped by a coin for each group, "
                               "which must leave no effect, the smallest p is "),
            std::string::npos);
}

// Only a difference of two answers turns its sign when they change places.
TEST(VerdictSentences, MetricsThatASwapDoesNotTurnHaveNoNegativeControl) {
  World world({{0, -3, -3, -3, 0, 1}, {0, 0, 0, 0, 0, 2}}, {.given = {0}});
  world.input.positive_control = ControlOutcome::passed;
  for (const std::string& name : choice_names<MetricChoice>()) {
    world.input.metric = parse_choice<MetricChoice>(name, "metric");
    const VerdictResult got = judge(world.input, with_delta(.1));
    EXPECT_TRUE(got.withheld.empty()) << name;
    EXPECT_NE(got.paragraph.find("came out as planted."), std::string::npos) << name;
    const bool swapped = got.paragraph.find("swapped by a coin") != std::string::npos;
    EXPECT_EQ(swapped, name == "logit-diff") << got.paragraph;
    EXPECT_EQ(std::isnan(got.negative_control_p), name != "logit-diff") << name;
    EXPECT_EQ(got.paragraph.find("The control that swaps answer and wrong answer is not run: the "
                                 "swap turns the sign of logit-diff alone, not of " +
                                 name + ".") != std::string::npos,
              name != "logit-diff")
        << got.paragraph;
  }
}

TEST(VerdictSentences, TheLoudestTenAreCounted) {
  std::vector<TrueUnit> units;
  for (int u = 0; u < 30; ++u) {
    const double effect = u < 3 || u == 25 ? -1 - u : 0;
    units.push_back({u / 10, effect, effect, effect, 0, 30.0 - u});
  }
  World world(units, {.given = {25}});
  EXPECT_NE(judge(world.input, with_delta(.1))
                .paragraph.find("7 of the 10 loudest heads have no effect larger than ±0.1 logits; "
                                "the strongest head, 2.25 (−26 logits), ranks 26th of 30 in "
                                "attention; of 30 heads 4 are causal, "),
            std::string::npos);
}

TEST(VerdictSentences, MarksAndSelfRepair) {
  World world({{0, -5, -5, -5, -4}, {0, .001, -5, 0}, {0, -2, -2, -2}, {0}}, {.given = {0}});
  world.input.joint.push_back(
      {.method = 0, .units = {0, 2}, .values = std::vector<double>(120, -10.0)});
  world.input.methods[0].random.assign(4 * 20, .01);
  std::fill_n(world.input.methods[0].random.begin() + 2 * 20, 20, 3.0);
  const std::string text = judge(world.input, with_delta(.1)).paragraph;
  for (const char* sentence :
       {"of 4 heads 2 are causal, 1 without effect, 1 undetermined (1 of them backed up)",
        "Removed alone, 0.1 has no effect, but others may stand in for it: its direct effect, or "
        "its effect once another is removed as well, may lie beyond ±0.1 logits.",
        "0.0 is unspecific: an unrelated pair of answers moves at least half as much.",
        "What 0.2 does may be due to the size of the change alone: random changes of the same size "
        "do as much in more than one of twenty cases.",
        "Removed together, 0.0 and 0.2, the strongest on the other half of the prompts, change the "
        "metric by −10 logits; their effects one by one add up to −7 (difference [−3, −3])."}) {
    EXPECT_NE(text.find(sentence), std::string::npos) << sentence << "\n" << text;
  }
}

// Five random sets: one does more than the −10 of the strongest, so p = (1 + 1) / (5 + 1).
TEST(VerdictSentences, TheStrongestBesideRandomSets) {
  World world({{0, -5, -5, -5}, {0}, {0, -2, -2, -2}, {0}}, {.given = {0}});
  JointEffect set = {.method = 0, .units = {0, 2}, .values = std::vector<double>(120, -10.0)};
  set.matched_wanted = 5;
  set.matched = {{1, 3}, {1, 2}, {0, 1}, {0, 3}, {2, 3}};
  set.matched_effects = {.5, -1, -2, 12, -3};
  world.input.joint = {set};
  const VerdictResult got = judge(world.input, with_delta(.1));
  EXPECT_DOUBLE_EQ(got.joint[0].matched_p, 2.0 / 6);
  EXPECT_EQ(got.joint[0].matched_median, -1);
  EXPECT_NE(
      got.paragraph.find(
          " 5 random sets of as many other heads of the same layers, alike in attention and "
          "size of output, change it by −3 to 12 logits (median −1), 1 of them by as much: "
          "p = 0.333. The sets share heads: of 4 different ones, the most frequent stands in 3 "
          "of 5."),
      std::string::npos)
      << got.paragraph;
  // None does as much, so that p is what five sets can give at least: 1 / 6.
  world.input.joint[0].matched_effects[3] = 9;
  EXPECT_NE(judge(world.input, with_delta(.1))
                .paragraph.find("none of them by as much: p = 0.167, the smallest that 5 sets can "
                                "give. The sets share"),
            std::string::npos);
  // Sets of different heads share none.
  world.input.joint[0].matched = {{1, 3}, {0, 2}};
  world.input.joint[0].matched_effects = {1, 2};
  const std::string apart = judge(world.input, with_delta(.1)).paragraph;
  EXPECT_NE(apart.find("p = 0.333, the smallest that 2 sets can give."), std::string::npos);
  EXPECT_EQ(apart.find("share heads"), std::string::npos);
  world.input.joint = {set};
  world.input.joint[0].matched_wanted = 20;
  EXPECT_NE(judge(world.input, with_delta(.1))
                .paragraph.find("size of output (further draws gave no others), change"),
            std::string::npos);
  world.input.joint[0].matched_effects[2] = std::nan("");
  EXPECT_TRUE(std::isnan(judge(world.input, with_delta(.1)).joint[0].matched_p));
}

// Three layers of eight heads rank alike on all prompts, so both say that there is something; with
// three heads in one layer the prompts still agree, but one order of heads in three does as well.
TEST(VerdictSentences, SaysWhereIntervalAndPDisagree) {
  const auto paragraph_of = [](int layers, int heads) {
    std::vector<TrueUnit> units;
    for (int u = 0; u < layers * heads; ++u) {
      units.push_back(
          {.layer = u / heads, .total = -1.0 - u % heads, .attention = 1.0 + u % heads});
    }
    World world(units, {.noise = .05, .given = {0}});
    const VerdictResult got = judge(world.input, with_delta(.1));
    EXPECT_GT(got.attention[0].interval.low, 0);
    EXPECT_EQ(got.attention[0].p <= .05, layers == 3) << got.attention[0].p;
    return got.paragraph;
  };
  EXPECT_EQ(paragraph_of(3, 8).find("although"), std::string::npos);
  EXPECT_NE(paragraph_of(1, 3).find("(although p = 0.3"), std::string::npos) << paragraph_of(1, 3);
}

// Whatever is missing: words, and never "nan".
TEST(VerdictSentences, WhatIsNoNumberIsSaidInWords) {
  const World world({{0, -5, -5, -5, 0, 1}, {0, -1, -1, -1, 0, 2}, {1, 0}, {1, -2, -2, -2, 0, 3}},
                    {.noise = .1, .given = {0}});
  VerdictInput whole = world.input;
  whole.joint.push_back({.method = 0, .units = {0, 3}, .values = std::vector<double>(120, -9.0)});
  whole.joint[0].matched = {{1, 2}, {2, 1}};
  whole.joint[0].matched_effects = {1, 2};
  const double nan = std::nan("");
  const auto text_of = [&](auto&& spoil) {
    VerdictInput input = whole;
    spoil(input);
    input.non_finite = 1;
    std::string text = judge(input, with_delta(.1)).paragraph;
    std::string bare = text;
    for (std::size_t at; (at = bare.find("NaN or infinite")) != std::string::npos;) {
      bare.erase(at, 15);
    }
    for (const char* word : {"nan", "NaN", "inf"}) {
      EXPECT_EQ(bare.find(word), std::string::npos) << text;
    }
    return text;
  };
  const std::string none = text_of([&](VerdictInput& input) {
    for (MethodEffects& m : input.methods) {
      for (auto* values : {&m.total, &m.direct, &m.placebo}) {
        std::fill(values->begin(), values->end(), nan);
      }
    }
    std::fill(input.joint[0].values.begin(), input.joint[0].values.end(), nan);
    input.joint[0].matched_effects = {nan, nan};
  });
  EXPECT_NE(none.find("No head is the strongest: the effect of each is NaN or infinite"),
            std::string::npos);
  EXPECT_NE(none.find("too many effects are NaN or infinite"), std::string::npos);
  const std::string one = text_of([&](VerdictInput& input) {
    const auto half = prompts_of(Half::estimation, input.half_of_cluster, input.cluster_of_prompt);
    input.methods[0].total[static_cast<std::size_t>(half[0])] = nan;  // of unit 0, the strongest
  });
  EXPECT_NE(one.find("0.0 (its effect is NaN or infinite)"), std::string::npos) << one;
  text_of([&](VerdictInput& input) {
    std::fill(input.attention[0].values.begin(), input.attention[0].values.end(), nan);
  });
  text_of([&](VerdictInput& input) { input.joint[0].values[7] = input.joint[0].values[90] = nan; });
}

TEST(VerdictSentences, NoneOfTheLoudestIsSaidWithoutADoubleNegative) {
  std::vector<TrueUnit> units;
  for (int u = 0; u < 6; ++u) units.push_back({0, -3, -3, -3, 0, 6.0 - u});
  World world(units, {.given = {0}});
  EXPECT_NE(judge(world.input, with_delta(.1))
                .paragraph.find("for none of the 2 loudest heads could an effect beyond ±0.1 "
                                "logits be ruled out; "),
            std::string::npos);
}

TEST(VerdictSentences, UndeterminedComesWithWhatCouldHaveBeenSeen) {
  World world({{0, 0}, {0, 0}, {0, 0}}, {.noise = 3, .given = {0}});
  const VerdictResult got = judge(world.input, with_delta(.01));
  EXPECT_NE(got.paragraph.find("3 undetermined; in each of these an effect of "),
            std::string::npos);
  EXPECT_NE(got.paragraph.find("would have been seen under each method in four of five cases"),
            std::string::npos);
  // About (1.96 + .84) × 3 / √60, with 29 degrees of freedom.
  for (const UnitResult& unit : got.units) EXPECT_NEAR(unit.minimal_detectable, 1.1, .4);
}

TEST(VerdictSentences, WithheldSaysWhyAndGivesNoVerdict) {
  World world({{0, -3, -3, -3, 0, 1}, {0}}, {.clusters = 12, .given = {0}});
  const std::string text = judge(world.input, with_delta(.05)).paragraph;
  EXPECT_EQ(
      text.find("The verdict is withheld: a verdict needs 20 groups of prompts and there are 12."),
      0u)
      << text;
  EXPECT_EQ(text.find("causal"), std::string::npos) << text;
  EXPECT_NE(text.find("On the 12 of them that nothing was chosen on, the strongest head, 0.0 "
                      "(−3 logits), ranks 1st of 2 in attention."),
            std::string::npos)
      << text;
}

TEST(VerdictSentences, OnePromptAndNoAttention) {
  World world({{0, -3}, {0}}, {.clusters = 1, .per_cluster = 1});
  EXPECT_NE(judge(world.input, with_delta(.05))
                .paragraph.find(
                    "This prompt cannot tell whether attention mass is a guide to importance"),
            std::string::npos);
  world.input.attention.clear();
  const std::string text = judge(world.input, with_delta(.05)).paragraph;
  EXPECT_EQ(text.find("attention"), std::string::npos) << text;
  World more({{0, -3, -3, -3}, {0}}, {.given = {0}});
  more.input.attention.clear();
  const std::string of_half = judge(more.input, with_delta(.05)).paragraph;
  EXPECT_TRUE(
      of_half.starts_with("On the 60 of 120 prompts that nothing was chosen on, the "
                          "strongest head is 0.0 (−3 logits); of 2 heads 1 is causal, "))
      << of_half;
}

}  // namespace
}  // namespace attnscope
