#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "attnscope/probes/verdict_rule.h"
#include "attnscope/support/error.h"
#include "worlds.h"

namespace attnscope {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

VerdictOptions with_delta(double delta) {
  return {.delta = delta, .seed = 1, .draws = 2000};
}

// 0 strong, 1 strong the other way, 2 weak, 3 and 4 nothing.
std::vector<TrueUnit> five_units() {
  return {{0, -3, -3, -3}, {0, 3, 3, 3}, {1, .3, .3, .3}, {1}, {1}};
}

TEST(VerdictRule, PlantedUnitsGetTheirVerdicts) {
  World world(five_units(), {.noise = .8, .given = {0, 1}});
  const VerdictResult got = judge(world.input, with_delta(1));
  EXPECT_EQ(got.units[0].verdict, Verdict::causal);
  EXPECT_EQ(got.units[1].verdict, Verdict::causal);
  EXPECT_EQ(got.units[2].verdict, Verdict::no_effect);
  EXPECT_EQ(got.units[3].verdict, Verdict::no_effect);
  EXPECT_EQ(got.units[4].verdict, Verdict::no_effect);
  EXPECT_EQ(got.units[0].methods[1].side, -1);
  EXPECT_EQ(got.units[1].methods[2].side, 1);
  EXPECT_EQ(got.estimation_clusters, 30u);
  EXPECT_EQ(got.estimation_prompts, 60u);
  EXPECT_EQ(got.prompts, 120u);
  EXPECT_TRUE(got.withheld.empty());
}

TEST(VerdictRule, NoSpreadIsDecidedByThePoint) {
  World world(five_units(), {.given = {0, 1}});
  const VerdictResult got = judge(world.input, with_delta(1));
  EXPECT_EQ(got.units[0].verdict, Verdict::causal);
  EXPECT_EQ(got.units[0].methods[0].total.ci_sim.low, -3);
  EXPECT_EQ(got.units[0].methods[0].total.ci_sim.high, -3);
  EXPECT_EQ(got.units[2].verdict, Verdict::no_effect);
  EXPECT_EQ(judge(world.input, with_delta(3.5)).units[0].verdict, Verdict::no_effect);
}

// Effects of the known model with a backup head (probes/known_answer): main, backup, and the head
// both read from.
TEST(VerdictRule, BackupHeadsAreNotCalledIdle) {
  World world({{1, -.00023, -4.99977}, {2, -.00023, -.00023}, {0, -5, -.001}, {0}}, {});
  world.input.conditional = {{0, 0, world.matrix(&TrueUnit::direct)},
                             {0, 1, world.matrix(&TrueUnit::direct)}};
  const std::size_t prompts = world.input.cluster_of_prompt.size();
  // Given the main head's removal the backup carries everything; given the backup's, the main.
  for (std::size_t p = 0; p < prompts; ++p) {
    world.input.conditional[0].values[1 * prompts + p] = -5;
    world.input.conditional[1].values[0 * prompts + p] = -5;
  }
  const VerdictResult got = judge(world.input, with_delta(.1));
  EXPECT_EQ(got.units[0].verdict, Verdict::undetermined);
  EXPECT_TRUE(got.units[0].backed_up);
  EXPECT_EQ(got.units[1].verdict, Verdict::undetermined);
  EXPECT_TRUE(got.units[1].backed_up);
  EXPECT_EQ(got.units[1].largest_hidden, -5);
  EXPECT_EQ(got.units[1].hidden_where, "given 1.0, zero");
  EXPECT_EQ(got.units[2].verdict, Verdict::causal);
  EXPECT_EQ(got.units[3].verdict, Verdict::no_effect);
  EXPECT_FALSE(got.units[3].backed_up);
}

TEST(VerdictRule, OneMethodIsNotEnough) {
  World world(five_units(), {.noise = .3, .given = {0, 1}});
  for (std::size_t p = 0; p < 120; ++p) {
    world.total(1, 0, p) += 3;
    world.total(2, 0, p) += 3;
  }
  const VerdictResult got = judge(world.input, with_delta(1));
  EXPECT_EQ(got.units[0].methods[0].side, -1);
  EXPECT_EQ(got.units[0].verdict, Verdict::undetermined);
  EXPECT_FALSE(got.units[0].backed_up);
}

TEST(VerdictRule, MethodsOfOppositeSignsDisagree) {
  World world(five_units(), {.noise = .3, .given = {0, 1}});
  for (std::size_t p = 0; p < 120; ++p) world.total(2, 0, p) += 6;
  const VerdictResult got = judge(world.input, with_delta(1));
  EXPECT_EQ(got.units[0].methods[0].side, -1);
  EXPECT_EQ(got.units[0].methods[2].side, 1);
  EXPECT_EQ(got.units[0].verdict, Verdict::undetermined);
}

// Absence needs all three kinds of effects, each measured.
TEST(VerdictRule, WhatWasNotMeasuredIsNotAbsent) {
  World complete(five_units(), {.given = {0, 1}});
  EXPECT_EQ(judge(complete.input, with_delta(1)).units[3].verdict, Verdict::no_effect);

  VerdictInput without_direct = complete.input;
  for (MethodEffects& m : without_direct.methods) m.direct.clear();
  EXPECT_EQ(judge(without_direct, with_delta(1)).units[3].verdict, Verdict::undetermined);

  VerdictInput without_conditions = complete.input;
  without_conditions.conditional.clear();
  EXPECT_EQ(judge(without_conditions, with_delta(1)).units[3].verdict, Verdict::undetermined);

  VerdictInput with_a_gap = complete.input;
  std::fill(with_a_gap.methods[1].total.begin() + 3 * 120,
            with_a_gap.methods[1].total.begin() + 4 * 120, kNaN);
  EXPECT_EQ(judge(with_a_gap, with_delta(1)).units[3].verdict, Verdict::undetermined);
  EXPECT_EQ(judge(with_a_gap, with_delta(1)).units[4].verdict, Verdict::no_effect);
}

// What makes measuring them affordable: leaving out the others changes no verdict.
TEST(VerdictRule, OnlyUnitsWithoutATotalEffectNeedConditionalOnes) {
  std::vector<TrueUnit> units = five_units();
  for (double effect = -1.4; effect <= 1.4; effect += .1) {
    units.push_back({2, effect, effect, effect});
  }
  World world(units, {.noise = .8, .given = {0, 1}});
  VerdictInput fewer = world.input;
  const std::vector<bool> needed = units_without_total(world.input, 1);
  EXPECT_GT(std::count(needed.begin(), needed.end(), true), 8);
  EXPECT_GT(std::count(needed.begin(), needed.end(), false), 8);
  const std::size_t prompts = fewer.cluster_of_prompt.size();
  for (ConditionalEffects& condition : fewer.conditional) {
    for (std::size_t u = 0; u < units.size(); ++u) {
      const auto begin = condition.values.begin() + static_cast<std::ptrdiff_t>(u * prompts);
      if (!needed[u]) std::fill(begin, begin + static_cast<std::ptrdiff_t>(prompts), kNaN);
    }
  }
  const VerdictResult all = judge(world.input, with_delta(1));
  const VerdictResult got = judge(fewer, with_delta(1));
  for (std::size_t u = 0; u < units.size(); ++u) {
    EXPECT_EQ(got.units[u].verdict, all.units[u].verdict) << u;
    EXPECT_EQ(got.units[u].backed_up, all.units[u].backed_up) << u;
    if (all.units[u].equivalence_p <= .05) {
      EXPECT_EQ(got.units[u].equivalence_p, all.units[u].equivalence_p) << u;
    }
  }
}

// One cluster of sixty says that something can happen; nobody knows how often.
TEST(VerdictRule, ARareLargeEffectIsNotAbsent) {
  World world(five_units(), {.given = {0, 1}});
  VerdictInput& input = world.input;
  const std::vector<int> shown =
      prompts_of(Half::estimation, input.half_of_cluster, input.cluster_of_prompt);
  for (std::size_t m = 0; m < 3; ++m) {
    world.total(m, 3, static_cast<std::size_t>(shown[0])) = 2.5;
    world.total(m, 4, static_cast<std::size_t>(shown[0])) = .5;
  }
  const VerdictResult got = judge(input, with_delta(1));
  EXPECT_LT(std::fabs(got.units[3].methods[0].total.effect), .1);
  EXPECT_EQ(got.units[3].verdict, Verdict::undetermined);
  EXPECT_EQ(got.units[4].verdict, Verdict::no_effect);
}

TEST(VerdictRule, MarksOfUnspecificAndRandomEffects) {
  std::vector<TrueUnit> units = five_units();
  units[0].placebo = -1.6;  // more than half
  units[1].placebo = -1.4;  // less than half
  units[3].placebo = .02;   // both too small to matter
  World world(units, {.given = {0, 1}});
  world.input.methods[0].random.assign(5 * 20, .1);
  for (std::size_t draw = 0; draw < 20; ++draw) world.input.methods[0].random[draw] = -4;
  const VerdictResult got = judge(world.input, with_delta(1));
  EXPECT_TRUE(got.units[0].unspecific);
  EXPECT_FALSE(got.units[1].unspecific);
  EXPECT_FALSE(got.units[3].unspecific);
  EXPECT_TRUE(got.units[0].like_random);
  EXPECT_FALSE(got.units[1].like_random);
  EXPECT_EQ(got.units[0].methods[0].random_percentile, 0);
  EXPECT_EQ(got.units[1].methods[0].random_percentile, 1);
  EXPECT_TRUE(std::isnan(got.units[1].methods[1].random_percentile));
  EXPECT_EQ(got.units[0].verdict, Verdict::causal);  // a mark is no veto
}

TEST(VerdictRule, TwentyClustersAreNeeded) {
  World few(five_units(), {.clusters = 19, .noise = .1, .given = {0, 1}});
  const VerdictResult withheld = judge(few.input, with_delta(1));
  EXPECT_EQ(withheld.units[0].verdict, Verdict::withheld);
  ASSERT_EQ(withheld.withheld.size(), 1u);
  EXPECT_NE(withheld.withheld[0].find("needs 20 groups of prompts and there are 19"),
            std::string::npos);
  EXPECT_NEAR(withheld.units[0].methods[0].total.effect, -3, .2);

  World enough(five_units(), {.clusters = 20, .noise = .1, .given = {0, 1}});
  EXPECT_EQ(judge(enough.input, with_delta(1)).units[0].verdict, Verdict::causal);

  for (const std::size_t clusters : {1, 2, 5}) {
    World tiny(five_units(), {.clusters = clusters, .noise = .1, .given = {0, 1}});
    const VerdictResult got = judge(tiny.input, with_delta(1));
    EXPECT_EQ(got.units[3].verdict, Verdict::withheld);
    EXPECT_FALSE(got.units[3].methods[0].total.ci.exists());
    EXPECT_TRUE(std::isnan(got.negative_control_p));
  }
}

TEST(VerdictRule, EffectsThatAreNoNumbersWithhold) {
  World world(five_units(), {.given = {0, 1}});
  world.input.non_finite = 3;
  const VerdictResult got = judge(world.input, with_delta(1));
  EXPECT_EQ(got.units[0].verdict, Verdict::withheld);
  EXPECT_NE(got.paragraph.find("The verdict is withheld: 3 effects are NaN or infinite"),
            std::string::npos);
}

TEST(VerdictRule, FailedPositiveControlWithholds) {
  World world(five_units(), {.given = {0, 1}});
  world.input.positive_control = ControlOutcome::passed;
  EXPECT_TRUE(judge(world.input, with_delta(1)).withheld.empty());
  world.input.positive_control = ControlOutcome::failed;
  world.input.positive_control_note = "1.0 is causal and came out undetermined";
  const VerdictResult got = judge(world.input, with_delta(1));
  EXPECT_EQ(got.units[0].verdict, Verdict::withheld);
  EXPECT_NE(got.paragraph.find("1.0 is causal and came out undetermined"), std::string::npos);
}

// Of metrics that cannot be negative a sign says nothing. Intervals and equivalence hold.
TEST(VerdictRule, DivergencesHaveVerdictsAndNoP) {
  World world({{.layer = 0, .total = 3, .direct = 3}, {.layer = 0, .total = .01, .direct = .01}},
              {.given = {0, 1}});
  for (const std::string& name : choice_names<MetricChoice>()) {
    world.input.metric = parse_choice<MetricChoice>(name, "metric");
    const bool divergence = name == "kl" || name == "total-variation" || name == "top1-change" ||
                            name == "embedding-shift";
    const VerdictResult got = judge(world.input, with_delta(1));
    EXPECT_EQ(got.units[0].verdict, Verdict::causal) << name;
    EXPECT_EQ(got.units[1].verdict, Verdict::no_effect) << name;
    for (const UnitResult& unit : got.units) {
      for (const UnitMethodResult& method : unit.methods) {
        EXPECT_EQ(std::isnan(method.total.p), divergence) << name;
        EXPECT_EQ(std::isnan(method.total.p_adjusted), divergence) << name;
        EXPECT_TRUE(method.total.ci_sim.exists()) << name;
        EXPECT_FALSE(std::isnan(method.equivalence_p)) << name;
      }
    }
  }
}

// Swapped answers leave no effect to find, however large the effects are; p is uniform.
TEST(VerdictRule, NegativeControlFindsNothingInLargeEffects) {
  int small = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    World world(five_units(), {.noise = .5, .given = {0}});
    VerdictOptions options = with_delta(1);
    options.seed = seed;
    options.draws = 500;
    const VerdictResult got = judge(world.input, options);
    EXPECT_LT(got.units[0].methods[0].total.p_adjusted, .01);
    small += got.negative_control_p <= .05 ? 1 : 0;
  }
  EXPECT_LE(small, 7);  // of 40 at most 5 % are expected: 4 standard deviations
}

// A unit that was lucky in the half that picks is reported as what it is in the other.
TEST(VerdictRule, ThePickIsReportedFromTheOtherHalf) {
  World world({{0, .5}, {0, 0}, {0, .1}, {0, 0}}, {.given = {0}});
  VerdictInput& input = world.input;
  for (const int p : prompts_of(Half::selection, input.half_of_cluster, input.cluster_of_prompt)) {
    world.total(0, 1, static_cast<std::size_t>(p)) = -9;
    input.attention[0].values[2 * 120 + static_cast<std::size_t>(p)] = 7;
  }
  for (const int p : prompts_of(Half::estimation, input.half_of_cluster, input.cluster_of_prompt)) {
    for (const std::size_t u : {0, 3}) {
      input.attention[0].values[u * 120 + static_cast<std::size_t>(p)] = 1;
    }
  }
  const VerdictResult got = judge(input, with_delta(1));
  EXPECT_EQ(got.picked.strongest, 1u);
  EXPECT_EQ(got.picked.strongest_effect, 0);
  EXPECT_EQ(got.picked.strongest_rank, 3u);
  EXPECT_EQ(got.picked.loudest, std::vector<std::size_t>{2});
}

std::vector<TrueUnit> three_layers(double slope) {
  std::vector<TrueUnit> units;
  for (int layer = 0; layer < 3; ++layer) {
    for (int head = 0; head < 8; ++head) {
      units.push_back({.layer = layer,
                       .total = -.5 * head - 10 * layer,
                       .attention = slope * head + 20 * layer});
    }
  }
  return units;
}

TEST(VerdictRule, AttentionThatFollowsTheEffectIsAGoodGuide) {
  World world(three_layers(1), {.noise = .2});
  const AttentionResult got = judge(world.input, with_delta(.1)).attention[0];
  EXPECT_GT(got.tau, .9);
  EXPECT_GT(got.ceiling, .9);
  EXPECT_LT(got.p, .001);
  EXPECT_EQ(got.guide, Guide::good);
}

// Between layers attention and effect grow together; inside a layer they run against each other.
TEST(VerdictRule, AttentionAgainstTheEffectInsideLayersPointsTheWrongWay) {
  World world(three_layers(-1), {.noise = .2});
  const AttentionResult got = judge(world.input, with_delta(.1)).attention[0];
  EXPECT_LT(got.tau, -.9);
  EXPECT_EQ(got.guide, Guide::wrong_way);
}

TEST(VerdictRule, UnreliableEffectsCannotTell) {
  std::vector<TrueUnit> units(24);
  for (std::size_t u = 0; u < 24; ++u) units[u] = {.layer = static_cast<int>(u / 8)};
  World world(units, {.noise = 1});
  const AttentionResult got = judge(world.input, with_delta(.1)).attention[0];
  EXPECT_LT(got.ceiling_interval.low, kUsefulCeiling);
  EXPECT_EQ(got.guide, Guide::cannot_tell);
}

// How prompts are cut into halves decides what is picked and estimated, not what attention knows.
TEST(VerdictRule, RankCorrelationDoesNotDependOnTheHalves) {
  World world(three_layers(1), {.noise = 8});
  const AttentionResult first = judge(world.input, with_delta(.1)).attention[0];
  for (Half& half : world.input.half_of_cluster) {
    half = half == Half::selection ? Half::estimation : Half::selection;
  }
  const AttentionResult other = judge(world.input, with_delta(.1)).attention[0];
  EXPECT_LT(first.tau, 1);
  EXPECT_EQ(other.tau, first.tau);
  EXPECT_EQ(other.interval.low, first.interval.low);
  EXPECT_EQ(other.ceiling, first.ceiling);
  EXPECT_EQ(other.ceiling_interval.low, first.ceiling_interval.low);
  EXPECT_EQ(other.guide, first.guide);
}

// Unrelated attention, measured well: the interval is near 0 and the ceiling high.
TEST(VerdictRule, UnrelatedAttentionIsAPoorGuide) {
  std::vector<TrueUnit> units;
  for (int u = 0; u < 96; ++u) {
    units.push_back({.layer = u / 24, .total = .5 * u, .attention = (u * 17) % 24 * 1.0});
  }
  World world(units, {.noise = .1});
  const AttentionResult got = judge(world.input, with_delta(.1)).attention[0];
  EXPECT_LT(std::fabs(got.tau), .3);
  EXPECT_GT(got.p, .05);
  EXPECT_EQ(got.guide, Guide::poor);
}

// An attention measure may be undefined on some prompts; the others still say what it is.
TEST(VerdictRule, AttentionThatIsUndefinedOnSomePromptsStillRanks) {
  World world(three_layers(1), {.noise = .2});
  const AttentionResult whole = judge(world.input, with_delta(.1)).attention[0];
  std::vector<double>& values = world.input.attention[0].values;
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = kNaN;
  const VerdictResult got = judge(world.input, with_delta(.1));
  EXPECT_NEAR(got.attention[0].tau, whole.tau, .05);
  EXPECT_EQ(got.attention[0].guide, Guide::good);
  EXPECT_EQ(got.picked.strongest_rank, 1u);
  // A unit that has none at all is left out: 3 layers of 8 lose one unit, not everything.
  std::fill(values.begin(), values.begin() + 120, kNaN);
  EXPECT_EQ(judge(world.input, with_delta(.1)).attention[0].guide, Guide::good);
}

// tests/stats/rank_intervals.py, noise .3, 1 and 3: what a perfect measure reached, .996, .856 and
// .490, beside the ceilings .960, .649 and .160. The closed form takes ranks to come from normal
// values, which these do only in part, and comes out low.
TEST(VerdictRule, AttainableTau) {
  EXPECT_EQ(attainable_tau(1), 1);
  EXPECT_EQ(attainable_tau(0), 0);
  EXPECT_EQ(attainable_tau(-.2), 0);
  // Reliability of a half sin 30° = ½, of the whole ⅔, ρ = √⅔.
  EXPECT_NEAR(attainable_tau(1.0 / 3), 2 / std::numbers::pi * std::asin(std::sqrt(2.0 / 3)), 1e-12);
  EXPECT_NEAR(attainable_tau(.960), .996, .02);
  EXPECT_NEAR(attainable_tau(.649), .856, .04);
  EXPECT_NEAR(attainable_tau(.160), .490, .06);
  EXPECT_TRUE(std::isnan(attainable_tau(kNaN)));
}

// A perfect measure stays a good guide where the effects are so noisy that tau is far from 1.
TEST(VerdictRule, NoiseDoesNotMakeAPerfectGuidePoor) {
  std::vector<TrueUnit> units;
  for (int u = 0; u < 96; ++u) {
    units.push_back({.layer = u / 24, .total = .5 + .1 * (u % 24), .attention = 1.0 * (u % 24)});
  }
  World world(units, {.noise = 3});
  const AttentionResult got = judge(world.input, with_delta(.1)).attention[0];
  EXPECT_LT(got.tau, .8);
  EXPECT_LT(got.attainable, .85);
  EXPECT_NEAR(got.attainable, got.tau, .1);
  EXPECT_EQ(got.guide, Guide::good);
}

TEST(VerdictRule, EffectsBelowTheNoiseFloorRankNothing) {
  std::vector<TrueUnit> units;
  for (int u = 0; u < 8; ++u) units.push_back({.total = 1e-7 * u, .attention = 1.0 * u});
  World world(units, {});
  VerdictOptions options = with_delta(.1);
  EXPECT_EQ(judge(world.input, options).attention[0].tau, 1);
  options.noise_floor = 1e-6;
  EXPECT_TRUE(std::isnan(judge(world.input, options).attention[0].tau));
}

TEST(VerdictRule, JointEffectAgainstTheSum) {
  World world({{0, -1}, {0, -1}, {0, 0}}, {.noise = .1, .given = {0}});
  JointEffect both{.method = 0, .units = {0, 1}, .values = std::vector<double>(120, -5.0)};
  world.input.joint.push_back(both);
  const JointResult got = judge(world.input, with_delta(.5)).joint[0];
  EXPECT_EQ(got.joint, -5);
  EXPECT_NEAR(got.sum, -2, .1);
  EXPECT_NEAR(got.difference.effect, -3, .1);
  EXPECT_LT(got.difference.ci.low, got.difference.effect);
  EXPECT_GT(got.difference.ci.high, got.difference.effect);
  EXPECT_LT(got.difference.ci.high, -2.8);
}

TEST(VerdictRule, ThreadsDoNotChangeTheResult) {
  World world(three_layers(.3), {.noise = 2, .given = {0, 5}});
  VerdictOptions options = with_delta(1);
  const VerdictResult one = judge(world.input, options);
  options.threads = 3;
  const VerdictResult three = judge(world.input, options);
  EXPECT_EQ(one.paragraph, three.paragraph);
  EXPECT_EQ(one.attention[0].interval.low, three.attention[0].interval.low);
  EXPECT_EQ(one.attention[0].p, three.attention[0].p);
  for (std::size_t u = 0; u < one.units.size(); ++u) {
    EXPECT_EQ(one.units[u].methods[2].total.ci_sim.low, three.units[u].methods[2].total.ci_sim.low);
    EXPECT_EQ(one.units[u].methods[2].total.p_adjusted, three.units[u].methods[2].total.p_adjusted);
  }
}

// .02 × mean |clean − corrupt| of the selection half: clusters 0 and 2.
TEST(VerdictRule, DefaultDelta) {
  const std::vector<Half> halves = {Half::selection, Half::estimation, Half::selection};
  const std::vector<int> clusters = {0, 1, 2, 2};
  const std::vector<double> clean = {3, 100, -1, 2}, corrupt = {1, -100, 2, 2};
  EXPECT_NEAR(*default_delta(clean, corrupt, clusters, halves), .02 * 5 / 3, 1e-15);
  EXPECT_NEAR(*default_delta(clean, {}, clusters, halves), .02 * 2, 1e-15);
  const std::vector<double> nothing(4, 0.0), missing = {kNaN, 1, 1, 1};
  EXPECT_FALSE(default_delta(nothing, {}, clusters, halves).has_value());
  EXPECT_FALSE(default_delta(missing, {}, clusters, halves).has_value());
}

TEST(VerdictRule, ConditionsAreTheLargestDirectEffectsOfTheSelectionHalf) {
  World world({{0, 0, 1}, {0, 0, -4}, {0, 0, 0}, {0, 9, 2}, {0, 0, 0}}, {});
  VerdictInput& input = world.input;
  for (const int p : prompts_of(Half::estimation, input.half_of_cluster, input.cluster_of_prompt)) {
    input.methods[0].direct[2 * 120 + static_cast<std::size_t>(p)] = 50;
  }
  for (std::size_t p = 0; p < 120; ++p) input.methods[1].direct[4 * 120 + p] = -3;
  EXPECT_EQ(units_to_condition_on(input, 3), (std::vector<std::size_t>{1, 4, 3}));
  EXPECT_EQ(units_to_condition_on(input, 9).size(), 5u);
}

TEST(VerdictRule, BadDeltaAndBadShapes) {
  World world(five_units(), {});
  for (const double delta : {0.0, -1.0, kNaN, HUGE_VAL}) {
    try {
      judge(world.input, with_delta(delta));
      FAIL() << delta;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "VD01");
      EXPECT_EQ(error.exit_code(), 2);
      EXPECT_NE(std::string(error.what()).find("smallest effect of interest must be above 0"),
                std::string::npos);
    }
  }
  const auto code_of = [&](auto&& spoil) {
    VerdictInput input = world.input;
    spoil(input);
    try {
      judge(input, with_delta(1));
    } catch (const Error& error) {
      return error.code();
    }
    return std::string("none");
  };
  EXPECT_EQ(code_of([](VerdictInput& i) { i.methods[1].total.pop_back(); }), "VD02");
  EXPECT_EQ(code_of([](VerdictInput& i) { i.methods[1].direct.pop_back(); }), "VD02");
  EXPECT_EQ(code_of([](VerdictInput& i) { i.methods.resize(1); }), "VD02");
  EXPECT_EQ(code_of([](VerdictInput& i) { i.layers.pop_back(); }), "VD02");
  EXPECT_EQ(code_of([](VerdictInput& i) { i.half_of_cluster.pop_back(); }), "VD02");
  EXPECT_EQ(code_of([](VerdictInput& i) { i.conditional = {{7, 0, i.methods[0].total}}; }), "VD02");
  EXPECT_EQ(code_of([](VerdictInput&) {}), "none");
  TotalEstimates totals = estimate_totals(world.input, with_delta(1));
  const auto code_of_totals = [&] {
    try {
      judge(world.input, with_delta(1), totals);
    } catch (const Error& error) {
      return error.code();
    }
    return std::string("none");
  };
  EXPECT_EQ(code_of_totals(), "none");
  totals.back().units.pop_back();
  EXPECT_EQ(code_of_totals(), "VD02");
  totals.pop_back();
  EXPECT_EQ(code_of_totals(), "VD02");
}

// Nothing was computed, so nothing can have passed.
TEST(VerdictRule, EffectsThatAreAllNaNLeaveTheNegativeControlOpen) {
  World world(five_units(), {.given = {0, 1}});
  EXPECT_FALSE(std::isnan(judge(world.input, with_delta(1)).negative_control_p));
  for (MethodEffects& m : world.input.methods) std::fill(m.total.begin(), m.total.end(), kNaN);
  const VerdictResult got = judge(world.input, with_delta(1));
  EXPECT_TRUE(std::isnan(got.negative_control_p));
  EXPECT_FALSE(got.picked.strongest.has_value());
}

// The units that judge() calls causal, and no others; with the first method that says so.
TEST(CausalUnits, AreThoseOfTheVerdict) {
  World world({{.layer = 0, .total = -3}, {.layer = 0, .total = .02}, {.layer = 1, .total = 2}},
              {.noise = .3});
  for (std::size_t p = 0; p < world.input.cluster_of_prompt.size(); ++p) world.total(0, 2, p) = 0;
  const VerdictOptions options{.delta = .5, .seed = 1, .draws = 500};
  const TotalEstimates totals = estimate_totals(world.input, options);
  const std::vector<CausalUnit> found = causal_units(totals, options.delta);
  const VerdictResult judged = judge(world.input, options, totals);
  EXPECT_EQ(judged.paragraph, judge(world.input, options).paragraph);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].unit, 0U);
  EXPECT_EQ(found[0].method, 0U);
  EXPECT_EQ(found[1].unit, 2U);
  EXPECT_EQ(found[1].method, 1U);
  for (std::size_t u = 0; u < 3; ++u) {
    EXPECT_EQ(judged.units[u].verdict == Verdict::causal, u != 1);
  }
}

}  // namespace
}  // namespace attnscope
