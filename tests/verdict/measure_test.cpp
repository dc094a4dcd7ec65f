// From models whose truth is known to verdicts, by the code that judges any model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "attnscope/core/device.h"
#include "attnscope/probes/known_answer.h"
#include "attnscope/support/philox.h"
#include "measure.h"

namespace attnscope::testing {
namespace {

constexpr int kTokens = 32;
constexpr int kClusters = 40;

// BOS, ten different tokens, the same ten again but the last: the answer is what is missing. In the
// corrupt twin no token comes twice, so that no induction head finds anything.
std::vector<SweepPrompt> prompts() {
  std::vector<SweepPrompt> list;
  for (int c = 0; c < kClusters; ++c) {
    Philox random(7, static_cast<std::uint64_t>(c));
    std::vector<std::int64_t> tokens(kTokens - 1);
    std::iota(tokens.begin(), tokens.end(), 1);
    for (std::size_t i = tokens.size() - 1; i > 0; --i) {
      std::swap(tokens[i], tokens[random.below(static_cast<std::uint32_t>(i + 1))]);
    }
    SweepPrompt prompt;
    prompt.row.ids = {0};
    for (int copy = 0; copy < 2; ++copy) {
      prompt.row.ids.insert(prompt.row.ids.end(), tokens.begin(), tokens.begin() + 10 - copy);
    }
    TokenRow corrupt = {.ids = {0}, .token_types = {}, .position_ids = {}};
    corrupt.ids.insert(corrupt.ids.end(), tokens.begin(), tokens.begin() + 19);
    prompt.donors = {std::move(corrupt)};
    prompt.target.answers = {tokens[9]};
    for (std::int64_t t = 1; t < kTokens; ++t) {
      if (t != tokens[9]) prompt.target.wrongs.push_back(t);
    }
    list.push_back(std::move(prompt));
  }
  return list;
}

// Verdicts on every head, by name, and what they rest on.
struct Judged {
  VerdictMeasurement measured;
  UnitAttention attention;
  VerdictResult result;
  std::map<std::string, UnitResult> units;
};

Judged judge_model(const Checkpoint& checkpoint) {
  Warnings warnings;
  const Model model = Model::load(checkpoint, {}, warnings);
  VerdictWorld world = {.model = model, .prompts = prompts(), .has_corrupt = true};
  for (int l = 0; l < model.config().n_layers; ++l) {
    for (int h = 0; h < model.config().n_heads(l); ++h) {
      world.units.push_back({{.kind = UnitKind::head, .layer = l, .index = h}});
    }
  }
  world.clusters.resize(kClusters);
  std::iota(world.clusters.begin(), world.clusters.end(), 0);
  world.halves = split_clusters(kClusters, 3);
  Judged judged;
  judged.measured = measure_verdict(
      world, {.methods = {AblationMethod::zero, AblationMethod::mean, AblationMethod::resample},
              .random_draws = 20,
              .joint_units = 2,
              .resamples = 1000});
  judged.attention = measure_attention(world, Engine::automatic);
  judged.result = judge(judged.measured.input, {.delta = judged.measured.delta, .draws = 1000});
  for (std::size_t u = 0; u < judged.result.units.size(); ++u) {
    judged.units[judged.measured.input.units[u]] = judged.result.units[u];
  }
  return judged;
}

TEST(VerdictOfKnownModels, AttentionRanksTheLoudDecoyFirstAndCausalityLast) {
  const Judged judged = judge_model(known_induction_model({.n_tokens = kTokens}));
  // 2 % of the difference between 5.0 and nothing but the quiet head's little.
  EXPECT_NEAR(judged.measured.delta, 0.1, 2e-3);
  EXPECT_EQ(judged.units.at("0.0").verdict, Verdict::causal);
  EXPECT_EQ(judged.units.at("1.0").verdict, Verdict::causal);
  for (const char* decoy : {"0.1", "1.1", "1.2"}) {
    EXPECT_EQ(judged.units.at(decoy).verdict, Verdict::no_effect) << decoy;
  }
  // Every row of 0.1 and of 1.1 is on BOS or on an equal token; neither moves anything at all.
  for (const UnitMethodResult& method : judged.units.at("0.1").methods) {
    EXPECT_EQ(method.total.effect, 0);
    EXPECT_EQ(method.direct, 0);
  }
  EXPECT_NEAR(judged.units.at("1.0").methods[0].total.effect, -5.0, 0.01);
  const std::vector<std::string>& units = judged.measured.input.units;
  ASSERT_TRUE(judged.result.picked.strongest.has_value());
  const std::string& strongest = units[*judged.result.picked.strongest];
  EXPECT_TRUE(strongest == "0.0" || strongest == "1.0") << strongest;
}

TEST(VerdictOfKnownModels, MainAndBackupHeadAreBackedUp) {
  const Judged judged = judge_model(known_backup_model({.n_tokens = kTokens}));
  for (const char* head : {"1.0", "2.0"}) {
    const UnitResult& unit = judged.units.at(head);
    EXPECT_EQ(unit.verdict, Verdict::undetermined) << head;
    EXPECT_TRUE(unit.backed_up) << head << " " << unit.hidden_where;
  }
  EXPECT_NEAR(judged.units.at("1.0").methods[0].total.effect, 0, 1e-3);
  EXPECT_NEAR(judged.units.at("1.0").methods[0].direct, -5.0, 0.01);
  EXPECT_EQ(judged.units.at("0.0").verdict, Verdict::causal);
}

// The rows that are read see a uniform pattern or one key; the measures follow by hand.
TEST(VerdictOfKnownModels, AttentionMeasuresOfKnownPatterns) {
  const Judged judged = judge_model(known_induction_model({.n_tokens = kTokens}));
  const VerdictInput& input = judged.measured.input;
  const auto value = [&](const std::string& measure, const std::string& unit) {
    const auto at = std::find(input.units.begin(), input.units.end(), unit) - input.units.begin();
    for (const AttentionMeasure& m : input.attention) {
      if (m.name == measure) return m.values[static_cast<std::size_t>(at) * kClusters];
    }
    return std::nan("");
  };
  EXPECT_NEAR(value("attention mass", "0.1"), 0, 1e-6);  // all on BOS
  EXPECT_NEAR(value("attention mass", "0.0"), 1, 1e-6);  // all on the token before
  EXPECT_NEAR(value("largest weight", "0.0"), 1, 1e-6);
  // 1.2 spreads evenly over 20 keys: BOS and its own are left out.
  EXPECT_NEAR(value("attention mass", "1.2"), 18.0 / 20, 1e-6);
  EXPECT_NEAR(value("focus", "1.2"), -std::log(20.0), 1e-5);
  EXPECT_NEAR(value("norm-weighted attention", "0.1"), 0, 1e-6);  // it carries nothing
}

// Like 0.0 and 1.0 there are two sets: 0.1, which writes nothing, with 1.1, which writes nothing,
// or with 1.2, which adds its little.
TEST(VerdictOfKnownModels, TheStrongestPairBesideAllPairsLikeIt) {
  const Judged judged = judge_model(known_induction_model({.n_tokens = kTokens}));
  const VerdictInput& input = judged.measured.input;
  ASSERT_EQ(input.joint.size(), 1U);
  const JointEffect& set = input.joint[0];
  EXPECT_EQ(set.units, (std::vector<std::size_t>{0, 2}));
  std::map<std::vector<std::size_t>, double> matched;
  for (std::size_t i = 0; i < set.matched.size(); ++i) {
    matched[set.matched[i]] = set.matched_effects[i];
  }
  ASSERT_EQ(matched.size(), 2U);
  ASSERT_EQ(set.matched.size(), 2U);
  EXPECT_EQ(matched.at({1, 3}), 0);
  EXPECT_NEAR(matched.at({1, 4}), judged.units.at("1.2").methods[0].total.effect, 1e-6);
  EXPECT_NE(matched.at({1, 4}), 0);
  EXPECT_NEAR(judged.result.joint[0].joint, -5, .01);
  EXPECT_DOUBLE_EQ(judged.result.joint[0].matched_p, 1.0 / 3);
  EXPECT_EQ(judged.result.joint[0].matched_high, 0);
}

// What sets are matched by, of patterns that are known: [log norm, entropy, mass on BOS].
TEST(VerdictOfKnownModels, TraitsOfKnownPatterns) {
  const Judged judged = judge_model(known_induction_model({.n_tokens = kTokens}));
  const std::vector<double>& traits = judged.attention.traits;
  ASSERT_EQ(traits.size(), 5 * kTraits);
  EXPECT_NEAR(traits[1 * kTraits + 1], 0, 1e-6);  // 0.1: all on BOS, and writes nothing
  EXPECT_NEAR(traits[1 * kTraits + 2], 1, 1e-6);
  EXPECT_NEAR(traits[1 * kTraits], std::log(1e-12), 1e-9);
  EXPECT_NEAR(traits[4 * kTraits + 1], std::log(20.0), 1e-5);  // 1.2: evenly over 20
  EXPECT_NEAR(traits[4 * kTraits + 2], 1.0 / 20, 1e-6);
  // 0.0 writes one unit of the token before: a vector of norm 1.
  EXPECT_NEAR(traits[0], 0, 1e-5);
  EXPECT_NEAR(traits[2], 0, 1e-6);
}

// And no other unit: under the first method by which its interval lies beyond δ.
TEST(VerdictOfKnownModels, EveryCausalHeadIsComparedWithRandomChanges) {
  const Judged judged = judge_model(known_induction_model({.n_tokens = kTokens}));
  for (const auto& [name, unit] : judged.units) {
    std::size_t compared = 0;
    for (const UnitMethodResult& method : unit.methods) {
      if (std::isnan(method.random_percentile)) continue;
      ++compared;
      EXPECT_NE(method.side, 0) << name;
    }
    EXPECT_EQ(compared, unit.verdict == Verdict::causal ? 1U : 0U) << name;
  }
}

TEST(PositiveControlOfVerdict, PassesOnSoundCode) {
  const PositiveControl control = run_positive_control({}, 0);
  EXPECT_EQ(control.outcome, ControlOutcome::passed) << control.note;
}

}  // namespace
}  // namespace attnscope::testing
