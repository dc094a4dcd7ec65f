// File: verdict_rule.h
// From measured effects and attention to verdicts: which units matter, which do not, and whether
// attention told them apart. A pure function of arrays, fixed before any result is seen.
// Definitions and calibration: probes/verdict/README.md.
//
// Example:
//   VerdictInput input = …;
//   input.half_of_cluster = split_clusters(n_clusters, seed);
//   for (const std::size_t unit : units_to_condition_on(input, 5)) …  // measure what that hides
//   const VerdictResult result = judge(input, {.delta = delta, .seed = seed});
//   result.units[3].verdict;  result.paragraph;
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/spec/choices.h"
#include "attnscope/stats/effects.h"
#include "attnscope/stats/split.h"

namespace attnscope {

// Verdicts need this many clusters over both halves.
inline constexpr std::size_t kVerdictClusters = 20;
// A ceiling whose interval reaches below this says that the effects themselves are too uncertain.
inline constexpr double kUsefulCeiling = 0.3;
// The level of tests and of intervals.
inline constexpr double kVerdictAlpha = 0.05;
// The negative control guards against a broken chain and is no test of the data.
inline constexpr double kNegativeControlAlpha = 1e-3;
// Intervals of rank correlations, which need no far tail, take no more draws than this.
inline constexpr int kMostRankDraws = 2000;
// Shuffles for the p of a rank correlation with ties; without any it is exact.
inline constexpr int kRankShuffles = 20000;

// All matrices are row-major over all prompts of both halves; an effect is the metric after − the
// metric before, NaN where it could not be measured.
struct MethodEffects {
  std::string name;             // "zero"
  std::vector<double> total;    // [unit, prompt]
  std::vector<double> direct;   // [unit, prompt]; empty where the method has none
  std::vector<double> placebo;  // [unit, prompt]: total effect on an unrelated metric; may be empty
  // [unit, draw]: mean effect over the estimation half of a random vector as large as the change of
  // the unit's output; NaN for units that have none; may be empty.
  std::vector<double> random;
};

// Effects of removing a unit as well, once unit `given` is removed: M(both) − M(given alone).
struct ConditionalEffects {
  std::size_t method = 0;
  std::size_t given = 0;       // its own row is not read
  std::vector<double> values;  // [unit, prompt]
};

// The larger, the louder.
struct AttentionMeasure {
  std::string name;            // as it stands in a sentence: "attention mass"
  std::vector<double> values;  // [unit, prompt]; NaN on prompts where it is undefined
  std::string meaning = {};    // what it measures, for the report
};

// Of the units that are strongest in the selection half.
struct JointEffect {
  std::size_t method = 0;
  std::vector<std::size_t> units;
  std::vector<double> values;  // [prompt]: effect of removing all of them at once
  // Random sets of as many units of the same layers that look like them, and the mean effect over
  // the estimation half of removing each; may be empty.
  std::size_t matched_wanted = 0;  // how many were asked for
  std::vector<std::vector<std::size_t>> matched;
  std::vector<double> matched_effects;
};

enum class ControlOutcome { not_run, passed, failed };

struct VerdictInput {
  MetricChoice metric = MetricChoice::logit_diff;  // what the effects are of
  std::vector<std::string> units;                  // "5.1"
  std::vector<int> layers;                         // of each unit
  std::vector<int> cluster_of_prompt;              // 0 … clusters − 1
  std::vector<Half> half_of_cluster;
  std::vector<MethodEffects> methods;  // at least two; the first is the one the sentences are about
  std::vector<ConditionalEffects> conditional;
  std::vector<AttentionMeasure> attention;  // the first is the one the sentences are about
  std::vector<JointEffect> joint;
  ControlOutcome positive_control = ControlOutcome::not_run;
  std::string positive_control_note;  // what came out wrong
  // Effects that are NaN or infinite: with any of them nothing is known of all units at once.
  std::int64_t non_finite = 0;
};

struct VerdictOptions {
  double delta = 0;        // smallest effect of interest, > 0
  double noise_floor = 0;  // effects up to this are rounding: 0 in rankings
  std::uint64_t seed = 0;
  int draws = 10000;
  int threads = 1;
  std::string unit_noun = "head";      // in sentences, singular
  std::string metric_unit = "logits";  // what an effect is counted in
};

enum class Verdict { causal, no_effect, undetermined, withheld };
// "causal", "no effect", "undetermined", "withheld".
std::string_view verdict_name(Verdict verdict);

struct UnitMethodResult {
  EffectEstimate total;
  int side = 0;  // +1 or −1 where total.ci_sim lies above δ or below −δ
  double direct = 0;
  double placebo = 0;
  double random_percentile = 0;  // share of random vectors with a smaller |effect|
  double equivalence_p = 0;      // that the total effect lies within ±δ, of this unit alone
};

struct UnitResult {
  Verdict verdict = Verdict::undetermined;
  bool backed_up = false;    // equivalent to none in total, not directly or given another's removal
  bool unspecific = false;   // |placebo| ≥ ½ |effect| under some method
  bool like_random = false;  // a random vector does as much: |effect| below 95 % of them
  std::vector<UnitMethodResult> methods;
  double total_equivalence_p = 0;  // over methods and, by Holm, over units
  double equivalence_p = 0;        // of all effects that "no effect" needs, the same way
  double largest_hidden = 0;       // the direct or conditional effect furthest from 0; NaN if none
  std::string hidden_where;        // "direct, zero" or "given 9.9, zero"
  double minimal_detectable = 0;   // of the total effect, under the least precise method
};

enum class Guide { cannot_tell, wrong_way, poor, partial, good };
std::string_view guide_name(Guide guide);

// Does an attention measure rank the units of a layer as their |effect| does?
struct AttentionResult {
  std::size_t measure = 0, method = 0;
  double tau = 0;      // stratified_tau_b by layer, over the prompts of both halves
  Interval interval;   // centred cluster bootstrap
  double p = 0;        // permutations within layers
  int shuffles = 0;    // random ones that p is a share of; 0: p is exact
  double ceiling = 0;  // the same between the |effects| of two halves, the mean over eight splits
  Interval ceiling_interval;
  double attainable = 0;  // what a perfect measure would reach with effects as uncertain as these
  Guide guide = Guide::cannot_tell;
};

// Picked in the selection half, reported from the estimation half.
struct PickedUnits {
  std::vector<std::size_t> loudest;      // by the first measure, loudest first
  std::optional<std::size_t> strongest;  // by |effect| under the first method; none if all are NaN
  double strongest_effect = 0;           // NaN where it is not known in the estimation half
  std::size_t strongest_rank = 0;        // 1 = loudest; 0 without attention measures
};

struct JointResult {
  double joint = 0;
  double sum = 0;             // of the single effects
  EffectEstimate difference;  // joint − sum
  // Of the matched sets; NaN without any.
  double matched_low = 0, matched_median = 0, matched_high = 0;
  double matched_p = 0;              // (1 + sets with an |effect| as large) ÷ (1 + sets)
  std::size_t matched_units = 0;     // different units in the sets
  std::size_t matched_most = 0;      // sets that hold the most frequent one
  std::size_t matched_as_large = 0;  // sets with an |effect| as large
};

struct VerdictResult {
  double delta = 0;
  std::size_t prompts = 0, clusters = 0;                        // of both halves
  std::size_t estimation_prompts = 0, estimation_clusters = 0;  // effects are means over these
  std::vector<UnitResult> units;
  std::vector<AttentionResult> attention;  // every measure with every method
  PickedUnits picked;
  std::vector<JointResult> joint;
  double negative_control_p = 0;      // NaN where it was not run, or cannot tell
  std::vector<std::string> withheld;  // why there are no verdicts; empty where there are
  std::string paragraph;
};

// The tau that a perfect measure reaches against effects of which two halves agree by tau
// `ceiling`: where ranks come from normal values, tau = 2/π asin ρ, and ρ = √reliability; that of a
// whole is 2r ÷ (1 + r) where that of a half is r (Spearman 1910; Brown 1910). 0 below 0.
double attainable_tau(double ceiling);

// What the estimation half says of the total effects: one table a method.
using TotalEstimates = std::vector<EffectTable>;

// Throws what judge() throws. Reads total effects, and of the options seed, draws and threads.
TotalEstimates estimate_totals(const VerdictInput& input, const VerdictOptions& options);

// Throws Error: VD01 (exit 2) when δ is not above 0, VD02 (exit 1) when arrays do not fit together.
VerdictResult judge(const VerdictInput& input, const VerdictOptions& options,
                    const TotalEstimates& totals);
// With estimates of its own.
VerdictResult judge(const VerdictInput& input, const VerdictOptions& options);

// 0.02 × the mean of |clean − corrupt| over the prompts of the selection half; without `corrupt`,
// of |clean|. Nothing where that is not above 0.
std::optional<double> default_delta(std::span<const double> clean, std::span<const double> corrupt,
                                    std::span<const int> cluster_of_prompt,
                                    std::span<const Half> half_of_cluster);

// Units that judge() calls causal wherever it gives verdicts, and the first method whose interval
// lies beyond δ.
struct CausalUnit {
  std::size_t unit = 0;
  std::size_t method = 0;
};
std::vector<CausalUnit> causal_units(const TotalEstimates& totals, double delta);

// The `count` units with the largest |direct effect| in the selection half, under whichever method
// it is largest; largest first.
std::vector<std::size_t> units_to_condition_on(const VerdictInput& input, std::size_t count);

// Units whose total effects each lie within ±δ at 5 %, not adjusted: only they can come out without
// effect or backed up, so only their conditional effects can change a verdict.
std::vector<bool> units_without_total(const VerdictInput& input, double delta);

}  // namespace attnscope
