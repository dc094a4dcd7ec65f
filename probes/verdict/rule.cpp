#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "attention_ranks.h"
#include "attnscope/probes/verdict_rule.h"
#include "attnscope/stats/equivalence.h"
#include "attnscope/stats/matching.h"
#include "attnscope/stats/multiplicity.h"
#include "attnscope/stats/nulls.h"
#include "attnscope/support/error.h"
#include "attnscope/support/philox.h"
#include "sentences.h"

namespace attnscope {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnspecificShare = 0.5;
constexpr double kRandomPercentile = 0.95;
// Streams of random numbers; the ranks have stream 1.
constexpr std::uint64_t kEffectStream = 0, kControlStream = 2, kSwapStream = 3;

[[noreturn]] void fail_shape(const std::string& what, std::size_t expected, std::size_t got) {
  throw Error(ErrorKind::internal, "VD02",
              {.where = "verdict rule",
               .what = what + " has the wrong size",
               .expected = std::to_string(expected),
               .got = std::to_string(got)});
}

void expect_size(const std::string& what, std::size_t expected, std::size_t got) {
  if (expected != got) fail_shape(what, expected, got);
}

void check(const VerdictInput& input, const VerdictOptions& options) {
  if (!(options.delta > 0) || !std::isfinite(options.delta)) {
    throw Error(ErrorKind::input, "VD01",
                {.where = "--delta",
                 .what = "the smallest effect of interest must be above 0",
                 .expected = "a number above 0",
                 .got = std::to_string(options.delta),
                 .next = "give one with --delta"});
  }
  const std::size_t units = input.units.size(), prompts = input.cluster_of_prompt.size();
  const std::size_t cells = units * prompts;
  if (units == 0) fail_shape("the list of units", 1, 0);
  if (input.methods.size() < 2) fail_shape("the list of methods", 2, input.methods.size());
  expect_size("layers", units, input.layers.size());
  for (const int cluster : input.cluster_of_prompt) {
    if (cluster >= 0 && static_cast<std::size_t>(cluster) < input.half_of_cluster.size()) continue;
    fail_shape("half_of_cluster", static_cast<std::size_t>(std::max(cluster, 0)) + 1,
               input.half_of_cluster.size());
  }
  for (const MethodEffects& m : input.methods) {
    expect_size("total effects", cells, m.total.size());
    if (!m.direct.empty()) expect_size("direct effects", cells, m.direct.size());
    if (!m.placebo.empty()) expect_size("placebo effects", cells, m.placebo.size());
    if (m.random.size() % units != 0) fail_shape("random vectors", units, m.random.size());
  }
  for (const ConditionalEffects& c : input.conditional) {
    expect_size("conditional effects", cells, c.values.size());
    if (c.method >= input.methods.size() || c.given >= units) {
      fail_shape("a condition's unit or method", units, c.given);
    }
  }
  for (const AttentionMeasure& a : input.attention) expect_size(a.name, cells, a.values.size());
  for (const JointEffect& j : input.joint) {
    expect_size("joint effects", prompts, j.values.size());
    expect_size("effects of matched sets", j.matched.size(), j.matched_effects.size());
  }
}

// The estimation half, which all effects are taken from.
class Estimation {
 public:
  explicit Estimation(const VerdictInput& input)
      : units_(input.units.size()),
        prompts_(prompts_of(Half::estimation, input.half_of_cluster, input.cluster_of_prompt)) {
    for (const int prompt : prompts_) {
      clusters_.push_back(input.cluster_of_prompt[static_cast<std::size_t>(prompt)]);
    }
  }

  std::vector<double> take(std::span<const double> values, std::size_t rows) const {
    return take_prompts(values, rows, prompts_);
  }
  ClusterSums sums(std::span<const double> values) const {
    return sum_by_cluster(take(values, units_), units_, clusters_);
  }
  const std::vector<int>& clusters() const { return clusters_; }
  std::size_t prompts() const { return prompts_.size(); }

 private:
  std::size_t units_;
  std::vector<int> prompts_;
  std::vector<int> clusters_;
};

// p of the claim that a unit's mean lies within ±δ. Where few clusters differ from the rest, the
// spread is not known from them: no claim unless every single cluster lies within.
double equivalence_of(const ClusterSums& sums, std::size_t unit, double delta) {
  const MeanEstimate estimate = estimate_mean(sums, unit);
  if (estimate.variation == Variation::sparse) {
    for (std::size_t c = 0; c < sums.clusters; ++c) {
      if (std::fabs(sums.of(unit)[c]) > delta * sums.sizes[c]) return 1;
    }
  }
  return equivalence_p(estimate, sums.clusters, delta);
}

// The largest p counts: all the claims must hold (Berger 1982). A claim that could not be tested
// does not.
void require(double& worst, double p) {
  worst = std::max(worst, std::isnan(p) ? 1 : p);
}

// The claims that one unit has no effect, and the hidden effect furthest from zero.
struct Absence {
  double total = 0;  // p of the total effects
  double all = 0;    // and of the direct and conditional ones
  double hidden = kNaN;
  std::string where;

  void add_hidden(const ClusterSums& sums, std::size_t unit, double delta,
                  const std::string& name) {
    require(all, equivalence_of(sums, unit, delta));
    const double mean = estimate_mean(sums, unit).mean;
    if (std::isnan(mean) || std::fabs(mean) <= std::fabs(hidden)) return;
    hidden = mean;
    where = name;
  }
};

std::vector<Absence> test_absence(const VerdictInput& input, const Estimation& half,
                                  const std::vector<ClusterSums>& totals, double delta) {
  const std::size_t units = input.units.size();
  std::vector<Absence> result(units);
  bool any_direct = false;
  for (std::size_t m = 0; m < input.methods.size(); ++m) {
    const MethodEffects& method = input.methods[m];
    for (std::size_t u = 0; u < units; ++u) {
      const double p = equivalence_of(totals[m], u, delta);
      require(result[u].total, p);
      require(result[u].all, p);
    }
    if (method.direct.empty()) continue;
    any_direct = true;
    const ClusterSums direct = half.sums(method.direct);
    for (std::size_t u = 0; u < units; ++u) {
      result[u].add_hidden(direct, u, delta, "direct, " + method.name);
    }
  }
  for (const ConditionalEffects& condition : input.conditional) {
    const ClusterSums sums = half.sums(condition.values);
    const std::string name =
        "given " + input.units[condition.given] + ", " + input.methods[condition.method].name;
    for (std::size_t u = 0; u < units; ++u) {
      if (u != condition.given) result[u].add_hidden(sums, u, delta, name);
    }
  }
  // Without direct and conditional effects nobody can tell "none" from "backed up".
  if (!any_direct || (input.conditional.empty() && units > 1)) {
    for (Absence& absence : result) absence.all = 1;
  }
  return result;
}

int side_of(const Interval& interval, double delta) {
  if (interval.low > delta) return 1;
  return interval.high < -delta ? -1 : 0;
}

UnitMethodResult describe(const MethodEffects& method, const ClusterSums& totals,
                          const EffectEstimate& total, std::size_t unit, double delta) {
  UnitMethodResult result;
  result.total = total;
  result.side = side_of(total.ci_sim, delta);
  result.equivalence_p = equivalence_of(totals, unit, delta);
  result.direct = result.placebo = result.random_percentile = kNaN;
  // NaN: no vectors were drawn for this unit.
  const std::size_t drawn = method.random.size() / totals.units;
  if (drawn > 0 && !std::isnan(method.random[unit * drawn])) {
    std::vector<double> sizes(
        method.random.begin() + static_cast<std::ptrdiff_t>(unit * drawn),
        method.random.begin() + static_cast<std::ptrdiff_t>((unit + 1) * drawn));
    for (double& size : sizes) size = std::fabs(size);
    result.random_percentile = percentile_among(std::fabs(total.effect), sizes);
  }
  return result;
}

bool is_unspecific(const UnitMethodResult& result, double delta) {
  const double effect = std::fabs(result.total.effect), placebo = std::fabs(result.placebo);
  // Where neither is of interest, their ratio is noise.
  return placebo >= kUnspecificShare * effect && std::max(effect, placebo) > delta;
}

bool is_like_random(const UnitMethodResult& result, double delta) {
  return std::fabs(result.total.effect) > delta && result.random_percentile < kRandomPercentile;
}

// The sides of δ on which the methods put a unit.
std::vector<int> sides_of(const TotalEstimates& totals, std::size_t unit, double delta) {
  std::vector<int> sides;
  for (const EffectTable& table : totals) sides.push_back(side_of(table.units[unit].ci_sim, delta));
  return sides;
}

// Two methods or more on one side, and none on the other.
bool is_causal(const std::vector<int>& sides) {
  const auto above = std::count(sides.begin(), sides.end(), 1);
  const auto below = std::count(sides.begin(), sides.end(), -1);
  return (above >= 2 && below == 0) || (below >= 2 && above == 0);
}

void measure_units(const VerdictInput& input, const Estimation& half,
                   const std::vector<ClusterSums>& sums_of_totals, const TotalEstimates& totals,
                   VerdictResult& result) {
  result.units.resize(input.units.size());
  for (std::size_t m = 0; m < input.methods.size(); ++m) {
    const MethodEffects& method = input.methods[m];
    for (std::size_t u = 0; u < input.units.size(); ++u) {
      result.units[u].methods.push_back(
          describe(method, sums_of_totals[m], totals[m].units[u], u, result.delta));
    }
    const auto fill = [&](const std::vector<double>& values, double UnitMethodResult::*mean) {
      if (values.empty()) return;
      const ClusterSums sums = half.sums(values);
      for (std::size_t u = 0; u < input.units.size(); ++u) {
        result.units[u].methods[m].*mean = estimate_mean(sums, u).mean;
      }
    };
    fill(method.direct, &UnitMethodResult::direct);
    fill(method.placebo, &UnitMethodResult::placebo);
  }
}

void judge_units(const std::vector<Absence>& absences, const TotalEstimates& totals,
                 VerdictResult& result) {
  const double delta = result.delta;
  std::vector<double> total_p, all_p;
  for (const Absence& absence : absences) {
    total_p.push_back(absence.total);
    all_p.push_back(absence.all);
  }
  total_p = holm(total_p);
  all_p = holm(all_p);
  for (std::size_t u = 0; u < result.units.size(); ++u) {
    UnitResult& unit = result.units[u];
    unit.total_equivalence_p = total_p[u];
    unit.equivalence_p = all_p[u];
    unit.largest_hidden = absences[u].hidden;
    unit.hidden_where = absences[u].where;
    for (const UnitMethodResult& m : unit.methods) {
      // NaN stays: std::max keeps its first argument where the second is not greater.
      unit.minimal_detectable = std::max(m.total.minimal_detectable, unit.minimal_detectable);
      unit.unspecific = unit.unspecific || is_unspecific(m, delta);
      unit.like_random = unit.like_random || is_like_random(m, delta);
    }
    if (!result.withheld.empty()) {
      unit.verdict = Verdict::withheld;
    } else if (is_causal(sides_of(totals, u, delta))) {
      unit.verdict = Verdict::causal;
    } else if (unit.equivalence_p <= kVerdictAlpha) {
      unit.verdict = Verdict::no_effect;
    } else {
      unit.verdict = Verdict::undetermined;
      unit.backed_up = unit.total_equivalence_p <= kVerdictAlpha;
    }
  }
}

// Answer and wrong answer swapped by a fair coin per cluster turns the sign of all its effects: no
// unit has an effect then, and p is that of the most extreme one over units and methods.
double negative_control(const std::vector<ClusterSums>& totals, const VerdictOptions& options) {
  double least = kNaN;
  for (const ClusterSums& sums : totals) {
    ClusterSums swapped = sums;
    Philox coin(options.seed, kSwapStream);
    for (std::size_t c = 0; c < sums.clusters; ++c) {
      if (coin.below(2) == 0) continue;
      for (std::size_t u = 0; u < sums.units; ++u) swapped.sums[u * sums.clusters + c] *= -1;
    }
    const SignFlipResult test = sign_flip_test(swapped, {.draws = options.draws,
                                                         .seed = options.seed,
                                                         .stream = kControlStream,
                                                         .threads = options.threads});
    // std::fmin leaves out what is NaN.
    for (const double p : test.p_adjusted) least = std::fmin(least, p);
  }
  if (totals.front().clusters < kMinClusters || std::isnan(least)) return kNaN;
  return std::min(1.0, least * static_cast<double>(totals.size()));
}

// Where the effect of a set lies among those of random sets that look like it, and how much these
// have in common.
void compare_matched(const JointEffect& set, JointResult& result) {
  std::map<std::size_t, std::size_t> sets_of_unit;
  for (const std::vector<std::size_t>& matched : set.matched) {
    for (const std::size_t unit : matched) {
      result.matched_most = std::max(result.matched_most, ++sets_of_unit[unit]);
    }
  }
  result.matched_units = sets_of_unit.size();
  const std::vector<double>& effects = set.matched_effects;
  result.matched_low = result.matched_median = result.matched_high = result.matched_p = kNaN;
  const bool known =
      std::none_of(effects.begin(), effects.end(), [](double e) { return std::isnan(e); });
  if (effects.empty() || !known || std::isnan(result.joint)) return;
  std::vector<double> sorted = effects;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  result.matched_low = sorted.front();
  result.matched_high = sorted.back();
  result.matched_median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  result.matched_as_large =
      static_cast<std::size_t>(std::count_if(effects.begin(), effects.end(), [&](double e) {
        return std::fabs(e) >= std::fabs(result.joint);
      }));
  result.matched_p = static_cast<double>(1 + result.matched_as_large) / static_cast<double>(1 + n);
}

std::vector<JointResult> compare_joint(const VerdictInput& input, const VerdictOptions& options,
                                       const Estimation& half) {
  const std::size_t prompts = input.cluster_of_prompt.size();
  std::vector<JointResult> results;
  for (const JointEffect& set : input.joint) {
    std::vector<double> sum(prompts), difference = set.values;
    for (const std::size_t unit : set.units) {
      for (std::size_t p = 0; p < prompts; ++p) {
        sum[p] += input.methods[set.method].total[unit * prompts + p];
      }
    }
    for (std::size_t p = 0; p < prompts; ++p) difference[p] -= sum[p];
    const auto mean = [&](const std::vector<double>& values) {
      return estimate_mean(sum_by_cluster(half.take(values, 1), 1, half.clusters()), 0).mean;
    };
    results.push_back({.joint = mean(set.values),
                       .sum = mean(sum),
                       .difference = estimate_effects(half.take(difference, 1), 1, half.clusters(),
                                                      {.draws = options.draws,
                                                       .seed = options.seed,
                                                       .stream = kEffectStream,
                                                       .threads = options.threads})
                                         .units[0]});
    compare_matched(set, results.back());
  }
  return results;
}

void decide_withholding(const VerdictInput& input, VerdictResult& result) {
  if (result.clusters < kVerdictClusters) {
    result.withheld.push_back(too_few_clusters(result.clusters));
  }
  if (input.non_finite > 0) result.withheld.push_back(not_finite(input.non_finite));
  if (input.positive_control == ControlOutcome::failed) {
    result.withheld.push_back(positive_control_failed(input.positive_control_note));
  }
  if (result.negative_control_p < kNegativeControlAlpha) {
    result.withheld.push_back(negative_control_rejects(result.negative_control_p));
  }
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::causal:
      return "causal";
    case Verdict::no_effect:
      return "no effect";
    case Verdict::undetermined:
      return "undetermined";
    case Verdict::withheld:
      return "withheld";
  }
  return "";
}

std::string_view guide_name(Guide guide) {
  switch (guide) {
    case Guide::cannot_tell:
      return "cannot tell";
    case Guide::wrong_way:
      return "points the wrong way";
    case Guide::poor:
      return "poor";
    case Guide::partial:
      return "partial";
    case Guide::good:
      return "good";
  }
  return "";
}

TotalEstimates estimate_totals(const VerdictInput& input, const VerdictOptions& options) {
  check(input, options);
  const Estimation half(input);
  const SignFlips flips = is_divergence(input.metric) ? SignFlips::off : SignFlips::on;
  TotalEstimates totals;
  for (const MethodEffects& method : input.methods) {
    totals.push_back(estimate_effects(half.take(method.total, input.units.size()),
                                      input.units.size(), half.clusters(),
                                      {.draws = options.draws,
                                       .seed = options.seed,
                                       .stream = kEffectStream,
                                       .threads = options.threads},
                                      flips));
  }
  return totals;
}

VerdictResult judge(const VerdictInput& input, const VerdictOptions& options) {
  return judge(input, options, estimate_totals(input, options));
}

VerdictResult judge(const VerdictInput& input, const VerdictOptions& options,
                    const TotalEstimates& totals) {
  check(input, options);
  expect_size("the estimates of total effects", input.methods.size(), totals.size());
  for (const EffectTable& table : totals) {
    expect_size("the estimates of a method", input.units.size(), table.units.size());
  }
  const Estimation half(input);
  VerdictResult result;
  result.delta = options.delta;
  result.prompts = input.cluster_of_prompt.size();
  result.clusters =
      std::set<int>(input.cluster_of_prompt.begin(), input.cluster_of_prompt.end()).size();
  result.estimation_prompts = half.prompts();
  std::vector<ClusterSums> sums;
  for (const MethodEffects& method : input.methods) sums.push_back(half.sums(method.total));
  result.estimation_clusters = sums.front().clusters;

  measure_units(input, half, sums, totals, result);
  result.negative_control_p =
      turns_with_answers(input.metric) ? negative_control(sums, options) : kNaN;
  decide_withholding(input, result);
  judge_units(test_absence(input, half, sums, options.delta), totals, result);
  result.attention = compare_ranks(input, options);
  result.picked = pick_units(input, options);
  result.joint = compare_joint(input, options, half);
  result.paragraph = verdict_paragraph(input, options, result);
  return result;
}

std::vector<CausalUnit> causal_units(const TotalEstimates& totals, double delta) {
  std::vector<CausalUnit> causal;
  for (std::size_t u = 0; u < totals.front().units.size(); ++u) {
    const std::vector<int> sides = sides_of(totals, u, delta);
    if (!is_causal(sides)) continue;
    const auto beyond =
        std::find_if(sides.begin(), sides.end(), [](int side) { return side != 0; });
    causal.push_back({u, static_cast<std::size_t>(beyond - sides.begin())});
  }
  return causal;
}

std::optional<double> default_delta(std::span<const double> clean, std::span<const double> corrupt,
                                    std::span<const int> cluster_of_prompt,
                                    std::span<const Half> half_of_cluster) {
  double total = 0, count = 0;
  for (const int prompt : prompts_of(Half::selection, half_of_cluster, cluster_of_prompt)) {
    const auto p = static_cast<std::size_t>(prompt);
    total += std::fabs(clean[p] - (corrupt.empty() ? 0 : corrupt[p]));
    count += 1;
  }
  const double delta = 0.02 * total / count;
  return delta > 0 && std::isfinite(delta) ? std::optional(delta) : std::nullopt;
}

std::vector<std::size_t> units_to_condition_on(const VerdictInput& input, std::size_t count) {
  const std::size_t units = input.units.size();
  const std::vector<int> prompts =
      prompts_of(Half::selection, input.half_of_cluster, input.cluster_of_prompt);
  std::vector<double> largest(units);
  for (const MethodEffects& method : input.methods) {
    if (method.direct.empty()) continue;
    const std::vector<double> values = take_prompts(method.direct, units, prompts);
    for (std::size_t u = 0; u < units; ++u) {
      const double sum = std::accumulate(
          values.begin() + static_cast<std::ptrdiff_t>(u * prompts.size()),
          values.begin() + static_cast<std::ptrdiff_t>((u + 1) * prompts.size()), 0.0);
      if (!std::isnan(sum)) largest[u] = std::max(largest[u], std::fabs(sum));
    }
  }
  std::vector<std::size_t> order(units);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return largest[a] > largest[b]; });
  order.resize(std::min(count, units));
  return order;
}

std::vector<bool> units_without_total(const VerdictInput& input, double delta) {
  const Estimation half(input);
  std::vector<bool> without(input.units.size(), true);
  for (const MethodEffects& method : input.methods) {
    const ClusterSums totals = half.sums(method.total);
    for (std::size_t u = 0; u < without.size(); ++u) {
      // Holm's adjustment only makes p larger; a p that is NaN is no evidence.
      if (!(equivalence_of(totals, u, delta) <= kVerdictAlpha)) without[u] = false;
    }
  }
  return without;
}

}  // namespace attnscope
