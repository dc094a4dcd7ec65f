#include "calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "attnscope/probes/verdict_rule.h"
#include "attnscope/stats/bootstrap.h"
#include "attnscope/stats/effects.h"
#include "attnscope/stats/nulls.h"
#include "worlds.h"

namespace attnscope {
namespace {

constexpr std::size_t kUnits = 32;
constexpr std::size_t kClusters = 100;  // of the estimation half
constexpr std::size_t kPerCluster = 5;
constexpr std::size_t kPrompts = kClusters * kPerCluster;

double exponential(Philox& random) {
  return -std::log(1 - random.uniform()) - 1;
}

std::vector<int> cluster_numbers(std::size_t clusters) {
  std::vector<int> numbers;
  for (std::size_t p = 0; p < clusters * kPerCluster; ++p) {
    numbers.push_back(static_cast<int>(p / kPerCluster));
  }
  return numbers;
}

// One repeat's random numbers are its own, whatever the others do.
Philox generator(const Repeats& repeats, int repeat) {
  return Philox(repeats.seed, 1000 + static_cast<std::uint64_t>(repeat));
}

ResamplingOptions resampling(const Repeats& repeats, int repeat) {
  return {.draws = repeats.draws, .seed = repeats.seed + static_cast<std::uint64_t>(repeat)};
}

double share(int hits, const Repeats& repeats) {
  return static_cast<double>(hits) / static_cast<double>(repeats.count);
}

std::vector<double> swapped_effects(Philox& random) {
  std::vector<double> values(kUnits * kPrompts);
  for (std::size_t c = 0; c < kClusters; ++c) {
    const double sign = random.below(2) == 0 ? 1 : -1;
    const double spread = std::exp(.5 * normal(random)), common = exponential(random);
    for (std::size_t u = 0; u < kUnits; ++u) {
      const double own = exponential(random);
      for (std::size_t i = 0; i < kPerCluster; ++i) {
        values[u * kPrompts + c * kPerCluster + i] =
            sign * (1 + spread * (common + own + exponential(random)));
      }
    }
  }
  return values;
}

// Standard deviations of what a cluster mean is made of; the variances add up to 1 (the last one
// over 5 prompts). power.py has the same figures.
constexpr double kShared = 0.5;
const double kOfUnit = std::sqrt(0.4);
const double kOfMethod = std::sqrt(0.15);
constexpr double kOfPrompt = 1.0;
constexpr double kExtra = 0.2;  // of direct and conditional effects, per prompt

constexpr std::size_t kPlanted = 5, kIdle = 9;
constexpr std::size_t kConditions = 5;

std::vector<double> add_noise(const std::vector<double>& values, double deviation, Philox& random) {
  std::vector<double> result = values;
  for (double& value : result) value += deviation * normal(random);
  return result;
}

VerdictInput planted_input(double deviation, Philox& random, std::uint64_t seed) {
  const std::size_t clusters = 2 * kClusters, prompts = clusters * kPerCluster;
  VerdictInput input;
  input.cluster_of_prompt = cluster_numbers(clusters);
  input.half_of_cluster = split_clusters(clusters, seed);
  for (std::size_t u = 0; u < kUnits; ++u) {
    input.units.push_back(std::to_string(u));
    input.layers.push_back(static_cast<int>(u / 8));
  }
  for (const char* name : {"zero", "mean", "resample"}) {
    input.methods.push_back({.name = name, .total = std::vector<double>(kUnits * prompts)});
  }
  for (std::size_t c = 0; c < clusters; ++c) {
    const double shared = kShared * normal(random);
    for (std::size_t u = 0; u < kUnits; ++u) {
      const double own = kOfUnit * normal(random);
      for (MethodEffects& method : input.methods) {
        const double level = shared + own + kOfMethod * normal(random);
        for (std::size_t i = 0; i < kPerCluster; ++i) {
          method.total[u * prompts + c * kPerCluster + i] =
              (u == kPlanted ? 3 : 0) + deviation * (level + kOfPrompt * normal(random));
        }
      }
    }
  }
  for (MethodEffects& method : input.methods) {
    method.direct = add_noise(method.total, kExtra * deviation, random);
  }
  for (std::size_t j = 0; j < kConditions; ++j) {
    input.conditional.push_back(
        {0, j, add_noise(input.methods[0].total, kExtra * deviation, random)});
  }
  return input;
}

std::vector<int> numbers_to(std::size_t clusters) {
  std::vector<int> numbers(clusters);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

double skewed_value(SkewedWorld world, Philox& random) {
  switch (world) {
    case SkewedWorld::exponential:
      return exponential(random);
    case SkewedWorld::half_zero:
      return random.below(2) == 0 ? 0 : exponential(random) + 1;
    case SkewedWorld::one_in_six:
      break;
  }
  const double carried = random.below(6) == 0 ? 10 + normal(random) : 0;
  return carried + .1 * normal(random);
}

double true_mean(SkewedWorld world) {
  if (world == SkewedWorld::exponential) return 0;
  return world == SkewedWorld::half_zero ? .5 : 10.0 / 6;
}

}  // namespace

NullRates null_rates(const Repeats& repeats) {
  constexpr std::size_t kPreset = 7;
  int raw = 0, adjusted = 0, simultaneous = 0;
  for (int r = 0; r < repeats.count; ++r) {
    Philox random = generator(repeats, r);
    const EffectTable table = estimate_effects(swapped_effects(random), kUnits,
                                               cluster_numbers(kClusters), resampling(repeats, r));
    const auto any = [&](auto&& rejects) {
      return std::any_of(table.units.begin(), table.units.end(), rejects) ? 1 : 0;
    };
    raw += table.units[kPreset].p <= .05 ? 1 : 0;
    adjusted += any([](const EffectEstimate& e) { return e.p_adjusted <= .05; });
    simultaneous +=
        any([](const EffectEstimate& e) { return e.ci_sim.low > 0 || e.ci_sim.high < 0; });
  }
  return {share(raw, repeats), share(adjusted, repeats), share(simultaneous, repeats)};
}

double raw_power(double standard_errors, const Repeats& repeats) {
  // Variance of a cluster mean: 1/2 + 1/2 · 1/5.
  const double error = std::sqrt(.6 / static_cast<double>(kClusters));
  int hits = 0;
  for (int r = 0; r < repeats.count; ++r) {
    Philox random = generator(repeats, r);
    std::vector<double> values;
    for (std::size_t c = 0; c < kClusters; ++c) {
      const double level = std::sqrt(.5) * normal(random);
      for (std::size_t i = 0; i < kPerCluster; ++i) {
        values.push_back(standard_errors * error + level + std::sqrt(.5) * normal(random));
      }
    }
    const ClusterSums sums = sum_by_cluster(values, 1, cluster_numbers(kClusters));
    hits += sign_flip_test(sums, resampling(repeats, r)).p[0] <= .05 ? 1 : 0;
  }
  return share(hits, repeats);
}

VerdictRates verdict_rates(double error, const Repeats& repeats) {
  const double deviation = error * std::sqrt(static_cast<double>(kClusters));
  int causal = 0, no_effect = 0;
  for (int r = 0; r < repeats.count; ++r) {
    Philox random = generator(repeats, r);
    const std::uint64_t seed = repeats.seed + static_cast<std::uint64_t>(r);
    const VerdictResult result = judge(planted_input(deviation, random, seed),
                                       {.delta = 1, .seed = seed, .draws = repeats.draws});
    causal += result.units[kPlanted].verdict == Verdict::causal ? 1 : 0;
    no_effect += result.units[kIdle].verdict == Verdict::no_effect ? 1 : 0;
  }
  return {share(causal, repeats), share(no_effect, repeats)};
}

SkewedRates skewed_rates(SkewedWorld world, std::size_t clusters, const Repeats& repeats) {
  int covered = 0, marked = 0, beyond = 0;
  for (int r = 0; r < repeats.count; ++r) {
    Philox random = generator(repeats, r);
    std::vector<double> values(clusters);
    for (double& value : values) value = skewed_value(world, random);
    const MeanIntervals got = bootstrap_means(sum_by_cluster(values, 1, numbers_to(clusters)),
                                              IntervalMethod::studentised, resampling(repeats, r));
    const Interval& interval = got.pointwise[0];
    const double truth = true_mean(world);
    covered += interval.low <= truth && truth <= interval.high ? 1 : 0;
    marked += got.kinds[0] == IntervalKind::few_clusters ? 1 : 0;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    beyond += interval.low < *least || interval.high > *most ? 1 : 0;
  }
  return {share(covered, repeats), share(marked, repeats), share(beyond, repeats)};
}

double covered_together(SkewedWorld world, std::size_t clusters, const Repeats& repeats) {
  const double truth = true_mean(world);
  int covered = 0;
  for (int r = 0; r < repeats.count; ++r) {
    Philox random = generator(repeats, r);
    std::vector<double> values(kUnits * clusters);
    for (double& value : values) value = skewed_value(world, random);
    const MeanIntervals got = bootstrap_means(sum_by_cluster(values, kUnits, numbers_to(clusters)),
                                              IntervalMethod::studentised, resampling(repeats, r));
    covered += std::all_of(got.simultaneous.begin(), got.simultaneous.end(),
                           [&](const Interval& interval) {
                             return !interval.exists() ||
                                    (interval.low <= truth && truth <= interval.high);
                           })
                   ? 1
                   : 0;
  }
  return share(covered, repeats);
}

double coverage(Shape shape, const Repeats& repeats) {
  int covered = 0;
  for (int r = 0; r < repeats.count; ++r) {
    Philox random = generator(repeats, r);
    const auto draw = [&] { return shape == Shape::normal ? normal(random) : exponential(random); };
    std::vector<double> values;
    for (std::size_t c = 0; c < kClusters; ++c) {
      const double level = draw();
      for (std::size_t i = 0; i < kPerCluster; ++i) values.push_back(level + draw());
    }
    const Interval interval = bootstrap_means(sum_by_cluster(values, 1, cluster_numbers(kClusters)),
                                              IntervalMethod::studentised, resampling(repeats, r))
                                  .pointwise[0];
    covered += interval.low <= 0 && interval.high >= 0 ? 1 : 0;
  }
  return share(covered, repeats);
}

}  // namespace attnscope
