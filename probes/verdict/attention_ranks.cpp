#include "attention_ranks.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "attnscope/stats/bootstrap.h"
#include "attnscope/stats/nulls.h"
#include "attnscope/stats/rank_correlation.h"

namespace attnscope {
namespace {

// Below this share of the largest, an effect is rounding whatever the noise floor says.
constexpr double kRounding = 1e-9;
constexpr std::size_t kLoudest = 10;
// Shares of the attainable tau up to which a measure is poor, from which it is good.
constexpr double kPoor = 0.3, kGood = 0.5;
// A single cut into halves would leave the ceiling to chance.
constexpr std::size_t kCeilingSplits = 8;

// What a missing value costs: an effect that could not be measured everywhere is not known, while a
// measure of attention may be undefined on some prompts.
enum class Gaps { spoil_the_unit, are_skipped };

// A matrix [unit, prompt] summed by cluster, with clusters outside so that weighted means run over
// whole rows.
class WeightedMeans {
 public:
  WeightedMeans(std::vector<double> values, std::size_t units, std::span<const int> clusters,
                Gaps gaps)
      : units_(units) {
    std::vector<double> present(values.size(), 1.0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (gaps == Gaps::spoil_the_unit || !std::isnan(values[i])) continue;
      values[i] = present[i] = 0;
    }
    const ClusterSums sums = sum_by_cluster(values, units, clusters);
    const ClusterSums counts = sum_by_cluster(present, units, clusters);
    clusters_ = sums.clusters;
    sums_ = clusters_outside(sums);
    counts_ = clusters_outside(counts);
  }

  // Means over the clusters for which `use` is not 0; all where `use` is empty.
  std::vector<double> at(std::span<const double> weights, std::span<const char> use = {}) const {
    std::vector<double> means(units_), counts(units_);
    for (std::size_t c = 0; c < clusters_; ++c) {
      const double weight = use.empty() || use[c] != 0 ? weights[c] : 0;
      if (weight == 0) continue;
      const double* sum = sums_.data() + c * units_;
      const double* count = counts_.data() + c * units_;
      for (std::size_t u = 0; u < units_; ++u) {
        means[u] += weight * sum[u];
        counts[u] += weight * count[u];
      }
    }
    for (std::size_t u = 0; u < units_; ++u) means[u] /= counts[u];
    return means;
  }

  std::size_t clusters() const { return clusters_; }

 private:
  static std::vector<double> clusters_outside(const ClusterSums& sums) {
    std::vector<double> result(sums.sums.size());
    for (std::size_t u = 0; u < sums.units; ++u) {
      for (std::size_t c = 0; c < sums.clusters; ++c) result[c * sums.units + u] = sums.of(u)[c];
    }
    return result;
  }

  std::size_t units_;
  std::size_t clusters_ = 0;
  std::vector<double> sums_;
  std::vector<double> counts_;  // prompts that have a value
};

ResamplingOptions rank_options(const VerdictOptions& options) {
  return {.draws = std::min(options.draws, kMostRankDraws),
          .seed = options.seed,
          .stream = 1,
          .threads = options.threads};
}

// Some of the prompts.
struct PartOfInput {
  std::vector<int> prompts;
  std::vector<int> clusters;  // of those prompts

  PartOfInput(const VerdictInput& input, std::vector<int> chosen) : prompts(std::move(chosen)) {
    for (const int prompt : prompts) {
      clusters.push_back(input.cluster_of_prompt[static_cast<std::size_t>(prompt)]);
    }
  }
  static PartOfInput half(const VerdictInput& input, Half half) {
    return {input, prompts_of(half, input.half_of_cluster, input.cluster_of_prompt)};
  }
  static PartOfInput whole(const VerdictInput& input) {
    std::vector<int> all(input.cluster_of_prompt.size());
    std::iota(all.begin(), all.end(), 0);
    return {input, std::move(all)};
  }

  WeightedMeans attention(const AttentionMeasure& measure, std::size_t units) const {
    return {take_prompts(measure.values, units, prompts), units, clusters, Gaps::are_skipped};
  }
  WeightedMeans effects(const MethodEffects& method, std::size_t units) const {
    return {take_prompts(method.total, units, prompts), units, clusters, Gaps::spoil_the_unit};
  }
};

// τ of measure a with method b at [a · methods + b], over all prompts: nothing was chosen for it,
// so that no half is needed, and it does not depend on how they were cut.
std::vector<StatisticInterval> measure_taus(const VerdictInput& input,
                                            const VerdictOptions& options) {
  const PartOfInput whole = PartOfInput::whole(input);
  const std::size_t units = input.units.size(), methods = input.methods.size();
  std::vector<WeightedMeans> attention, effects;
  for (const AttentionMeasure& m : input.attention) attention.push_back(whole.attention(m, units));
  for (const MethodEffects& m : input.methods) effects.push_back(whole.effects(m, units));
  const ClusterStatistic taus = [&](std::span<const double> weights, std::span<double> out) {
    std::vector<std::vector<double>> sizes;
    for (const WeightedMeans& e : effects) {
      sizes.push_back(effect_sizes(e.at(weights), options.noise_floor));
    }
    for (std::size_t a = 0; a < attention.size(); ++a) {
      const std::vector<double> loudness = attention[a].at(weights);
      for (std::size_t b = 0; b < methods; ++b) {
        out[a * methods + b] = stratified_tau_b(loudness, sizes[b], input.layers);
      }
    }
  };
  return bootstrap_statistics(taus, attention.size() * methods, effects[0].clusters(),
                              IntervalMethod::centred, rank_options(options));
}

// Which clusters are in either half of a split.
struct ClusterHalves {
  std::vector<char> first, second;
};

std::vector<ClusterHalves> ceiling_splits(std::size_t clusters) {
  std::vector<ClusterHalves> splits(kCeilingSplits);
  for (std::size_t s = 0; s < splits.size(); ++s) {
    for (const Half half : split_clusters(clusters, s)) {
      splits[s].first.push_back(half == Half::selection ? 1 : 0);
      splits[s].second.push_back(half == Half::selection ? 0 : 1);
    }
  }
  return splits;
}

// τ between the |effects| of two halves of the clusters, one a method; the mean over splits, of
// those that have one. Clusters are drawn over both halves.
std::vector<StatisticInterval> measure_ceilings(const VerdictInput& input,
                                                const VerdictOptions& options) {
  const PartOfInput whole = PartOfInput::whole(input);
  std::vector<WeightedMeans> effects;
  for (const MethodEffects& m : input.methods) {
    effects.push_back(whole.effects(m, input.units.size()));
  }
  const std::size_t clusters = effects.front().clusters();
  const std::vector<ClusterHalves> splits = ceiling_splits(clusters);
  const ClusterStatistic taus = [&](std::span<const double> weights, std::span<double> out) {
    for (std::size_t m = 0; m < effects.size(); ++m) {
      double sum = 0;
      int count = 0;
      for (const ClusterHalves& split : splits) {
        const double tau = stratified_tau_b(
            effect_sizes(effects[m].at(weights, split.first), options.noise_floor),
            effect_sizes(effects[m].at(weights, split.second), options.noise_floor), input.layers);
        if (std::isnan(tau)) continue;
        sum += tau;
        ++count;
      }
      out[m] = sum / count;
    }
  };
  return bootstrap_statistics(taus, effects.size(), clusters, IntervalMethod::centred,
                              rank_options(options));
}

Guide judge_guide(const AttentionResult& result) {
  if (!result.interval.exists() || !result.ceiling_interval.exists()) return Guide::cannot_tell;
  if (result.ceiling_interval.low < kUsefulCeiling) return Guide::cannot_tell;
  if (result.interval.high < 0) return Guide::wrong_way;
  if (result.interval.high <= kPoor * result.attainable) return Guide::poor;
  if (result.interval.low >= kGood * result.attainable) return Guide::good;
  return result.interval.low > 0 ? Guide::partial : Guide::cannot_tell;
}

// A correlation does not go beyond ±1.
Interval within_one(const Interval& interval) {
  if (!interval.exists()) return interval;
  return {std::max(interval.low, -1.0), std::min(interval.high, 1.0)};
}

std::vector<double> over_all(const WeightedMeans& means) {
  return means.at(std::vector<double>(means.clusters(), 1.0));
}

}  // namespace

double attainable_tau(double ceiling) {
  if (std::isnan(ceiling)) return ceiling;
  const double of_half = std::sin(std::numbers::pi / 2 * std::max(ceiling, 0.0));
  const double reliability = 2 * of_half / (1 + of_half);
  return 2 / std::numbers::pi * std::asin(std::sqrt(reliability));
}

std::vector<double> effect_sizes(std::vector<double> effects, double noise_floor) {
  double largest = 0;
  for (double& effect : effects) {
    effect = std::fabs(effect);
    if (!std::isnan(effect)) largest = std::max(largest, effect);
  }
  const double floor = std::max(noise_floor, kRounding * largest);
  for (double& effect : effects) effect = effect <= floor ? 0 : effect;
  return effects;
}

RankedMeans ranked_means(const VerdictInput& input) {
  const PartOfInput whole = PartOfInput::whole(input);
  const std::size_t units = input.units.size();
  RankedMeans means;
  for (const MethodEffects& m : input.methods) {
    means.effects.push_back(over_all(whole.effects(m, units)));
  }
  for (const AttentionMeasure& m : input.attention) {
    means.attention.push_back(over_all(whole.attention(m, units)));
  }
  return means;
}

std::vector<AttentionResult> compare_ranks(const VerdictInput& input,
                                           const VerdictOptions& options) {
  if (input.attention.empty()) return {};
  const std::vector<StatisticInterval> taus = measure_taus(input, options);
  const std::vector<StatisticInterval> ceilings = measure_ceilings(input, options);
  const RankedMeans means = ranked_means(input);
  ResamplingOptions shuffling = rank_options(options);
  shuffling.draws = kRankShuffles;
  std::vector<AttentionResult> results;
  for (std::size_t a = 0; a < input.attention.size(); ++a) {
    for (std::size_t m = 0; m < input.methods.size(); ++m) {
      const StatisticInterval& tau = taus[a * input.methods.size() + m];
      const StratumTest test = within_stratum_test(
          means.attention[a], effect_sizes(means.effects[m], options.noise_floor), input.layers,
          shuffling);
      AttentionResult result{.measure = a,
                             .method = m,
                             .tau = tau.estimate,
                             .interval = within_one(tau.interval),
                             .p = test.p,
                             .shuffles = test.shuffles,
                             .ceiling = ceilings[m].estimate,
                             .ceiling_interval = within_one(ceilings[m].interval),
                             .attainable = attainable_tau(ceilings[m].estimate)};
      result.guide = judge_guide(result);
      results.push_back(result);
    }
  }
  return results;
}

PickedUnits pick_units(const VerdictInput& input, const VerdictOptions& options) {
  const PartOfInput selection = PartOfInput::half(input, Half::selection);
  const PartOfInput estimation = PartOfInput::half(input, Half::estimation);
  const std::size_t units = input.units.size();
  const MethodEffects& effects = input.methods.front();
  // NaN ranks last.
  const auto rank = [](double value) { return std::isnan(value) ? -HUGE_VAL : value; };
  PickedUnits picked;
  const std::vector<double> sizes =
      effect_sizes(over_all(selection.effects(effects, units)), options.noise_floor);
  for (std::size_t u = 0; u < units; ++u) {
    if (std::isnan(sizes[u])) continue;
    if (!picked.strongest || sizes[u] > sizes[*picked.strongest]) picked.strongest = u;
  }
  if (picked.strongest) {
    picked.strongest_effect = over_all(estimation.effects(effects, units))[*picked.strongest];
  }
  if (input.attention.empty()) return picked;

  const AttentionMeasure& attention = input.attention.front();
  const std::vector<double> loudness = over_all(selection.attention(attention, units));
  std::vector<std::size_t> order(units);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rank(loudness[a]) > rank(loudness[b]);
  });
  order.resize(std::min(kLoudest, std::max<std::size_t>(1, units / 3)));
  picked.loudest = order;
  if (!picked.strongest) return picked;
  const std::vector<double> later = over_all(estimation.attention(attention, units));
  picked.strongest_rank =
      1 + static_cast<std::size_t>(std::count_if(later.begin(), later.end(), [&](double value) {
        return rank(value) > rank(later[*picked.strongest]);
      }));
  return picked;
}

}  // namespace attnscope
