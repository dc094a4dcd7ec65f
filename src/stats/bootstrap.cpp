#include "attnscope/stats/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/stats/distributions.h"
#include "mean_draws.h"
#include "parallel.h"

namespace attnscope {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kUnitsAtOnce = 256;

// Leaves the values in another order.
double quantile_of(std::vector<double>& values, double p) {
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), below, values.end());
  const double share = at - std::floor(at);
  if (share == 0 || below + 1 == values.end()) return *below;
  const double above = *std::min_element(below + 1, values.end());
  return above == *below ? above : *below + share * (above - *below);
}

IntervalKind kind_of(const MeanEstimate& estimate, double bounded_share, double level) {
  switch (estimate.variation) {
    case Variation::missing:
      return IntervalKind::missing;
    case Variation::constant:
      return IntervalKind::point;
    case Variation::sparse:
      return IntervalKind::few_clusters;
    case Variation::full:
      break;
  }
  return bounded_share > (1 - level) / 2 ? IntervalKind::few_clusters : IntervalKind::regular;
}

// Efron 1987, eq. 6.6: third moment of the leave-one-out values.
double acceleration(std::span<const double> left_out) {
  double mean = 0, count = 0;
  for (const double value : left_out) {
    if (std::isnan(value)) continue;
    mean += value;
    count += 1;
  }
  mean /= count;
  double squares = 0, cubes = 0;
  for (const double value : left_out) {
    if (std::isnan(value)) continue;
    const double d = mean - value;
    squares += d * d;
    cubes += d * d * d;
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

Interval percentile_interval(std::vector<double>& draws, double level) {
  const double tail = (1 - level) / 2;
  return {quantile_of(draws, tail), quantile_of(draws, 1 - tail)};
}

Interval centred_interval(std::vector<double>& draws, double estimate, double level) {
  double mean = 0;
  for (const double value : draws) mean += value / static_cast<double>(draws.size());
  const Interval raw = percentile_interval(draws, level);
  return {estimate + raw.low - mean, estimate + raw.high - mean};
}

Interval bca_interval(std::vector<double>& draws, double estimate, std::span<const double> left_out,
                      double level) {
  double largest = 0;
  for (const double value : draws) largest = std::max(largest, std::fabs(value - estimate));
  // Draws that give the estimate but for rounding count half.
  double below = 0;
  for (const double value : draws) {
    const double difference = value - estimate;
    below += std::fabs(difference) <= 1e-12 * largest ? 0.5 : difference < 0 ? 1 : 0;
  }
  const auto n = static_cast<double>(draws.size());
  const double bias = normal_quantile(std::clamp(below, 0.5, n - 0.5) / n);
  const double a = acceleration(left_out);
  const auto corrected = [&](double p) {
    const double z = bias + normal_quantile(p);
    return normal_cdf(bias + z / (1 - a * z));
  };
  const double tail = (1 - level) / 2;
  return {quantile_of(draws, corrected(tail)), quantile_of(draws, corrected(1 - tail))};
}

Interval interval_of(IntervalMethod method, std::vector<double>& draws, double estimate,
                     std::span<const double> left_out, double level) {
  if (method == IntervalMethod::percentile) return percentile_interval(draws, level);
  if (method == IntervalMethod::centred) return centred_interval(draws, estimate, level);
  return bca_interval(draws, estimate, left_out, level);
}

std::vector<double> leave_one_out_means(const ClusterSums& sums, std::size_t unit) {
  const std::span<const double> s = sums.of(unit);
  double total = 0;
  for (const double value : s) total += value;
  std::vector<double> means(sums.clusters);
  for (std::size_t c = 0; c < sums.clusters; ++c) {
    means[c] = (total - s[c]) / (sums.prompts - sums.sizes[c]);
  }
  return means;
}

// Cut to the range of the clusters' means, which holds the mean that is looked for unless all
// clusters happened to fall on one side of it.
Interval within_clusters(const Interval& interval, const ClusterSums& sums, std::size_t unit) {
  const std::span<const double> s = sums.of(unit);
  double least = s[0] / sums.sizes[0], most = least;
  for (std::size_t c = 1; c < sums.clusters; ++c) {
    least = std::min(least, s[c] / sums.sizes[c]);
    most = std::max(most, s[c] / sums.sizes[c]);
  }
  return {std::max(interval.low, least), std::min(interval.high, most)};
}

Interval pointwise_interval(const ClusterSums& sums, std::size_t unit, const MeanEstimate& estimate,
                            IntervalMethod method, double level, std::vector<double>& draws) {
  if (estimate.variation == Variation::missing) return Interval::none();
  if (estimate.variation == Variation::constant) return {estimate.mean, estimate.mean};
  if (method == IntervalMethod::studentised) {
    const Interval t = percentile_interval(draws, level);
    return within_clusters(
        {estimate.mean - t.high * estimate.se, estimate.mean - t.low * estimate.se}, sums, unit);
  }
  const Interval deviation = interval_of(method, draws, 0, leave_one_out_means(sums, unit), level);
  return {estimate.mean + deviation.low, estimate.mean + deviation.high};
}

void add_simultaneous(std::span<const MeanEstimate> estimates, std::vector<double>& maxima,
                      double level, MeanIntervals& result) {
  result.critical = quantile_of(maxima, level);
  for (std::size_t u = 0; u < estimates.size(); ++u) {
    const MeanEstimate& e = estimates[u];
    if (result.kinds[u] == IntervalKind::point) result.simultaneous[u] = {e.mean, e.mean};
    if (result.kinds[u] != IntervalKind::regular) continue;
    result.simultaneous[u] = {e.mean - result.critical * e.se, e.mean + result.critical * e.se};
  }
}

}  // namespace

Interval Interval::none() {
  return {kNaN, kNaN};
}

const char* interval_kind_name(IntervalKind kind) {
  switch (kind) {
    case IntervalKind::missing:
      return "missing values";
    case IntervalKind::too_few_clusters:
      return "too few groups";
    case IntervalKind::regular:
      return "regular";
    case IntervalKind::point:
      return "point";
    case IntervalKind::few_clusters:
      break;
  }
  return "few groups";
}

std::optional<IntervalKind> interval_kind(std::int64_t number) {
  for (const IntervalKind kind : kIntervalKinds) {
    if (static_cast<std::int64_t>(kind) == number) return kind;
  }
  return std::nullopt;
}

MeanIntervals bootstrap_means(const ClusterSums& sums, IntervalMethod method,
                              const ResamplingOptions& options) {
  MeanIntervals result;
  result.pointwise.assign(sums.units, Interval::none());
  result.simultaneous.assign(sums.units, Interval::none());
  result.kinds.assign(sums.units, IntervalKind::too_few_clusters);
  if (sums.clusters < kMinClusters) return result;

  std::vector<MeanEstimate> estimates(sums.units);
  for (std::size_t u = 0; u < sums.units; ++u) estimates[u] = estimate_mean(sums, u);
  std::vector<double> maxima(static_cast<std::size_t>(options.draws), 0.0);
  for (std::size_t first = 0; first < sums.units; first += kUnitsAtOnce) {
    const std::size_t units = std::min(kUnitsAtOnce, sums.units - first);
    const std::span own = std::span(estimates).subspan(first, units);
    UnitDraws drawn(sums, own, first, method, options);
    const std::span kinds = std::span(result.kinds).subspan(first, units);
    for (std::size_t u = 0; u < units; ++u) {
      kinds[u] = kind_of(own[u], drawn.bounded_share(u), options.level);
    }
    drawn.raise_maxima(kinds, options.threads, maxima);
    for_each_index(units, options.threads, [&](std::size_t u) {
      result.pointwise[first + u] =
          pointwise_interval(sums, first + u, own[u], method, options.level, drawn.of(u));
    });
  }
  if (method == IntervalMethod::studentised) {
    add_simultaneous(estimates, maxima, options.level, result);
  }
  return result;
}

std::vector<StatisticInterval> bootstrap_statistics(const ClusterStatistic& statistic,
                                                    std::size_t outputs, std::size_t clusters,
                                                    IntervalMethod method,
                                                    const ResamplingOptions& options) {
  std::vector<double> estimates(outputs);
  std::vector<double> weights(clusters, 1.0);
  statistic(weights, estimates);
  std::vector<StatisticInterval> result(outputs);
  for (std::size_t o = 0; o < outputs; ++o) result[o] = {estimates[o], Interval::none(), 0};
  if (clusters < kMinClusters) return result;

  const auto draws = static_cast<std::size_t>(options.draws);
  std::vector<double> drawn(draws * outputs), left_out(clusters * outputs);
  for_each_index(draws, options.threads, [&](std::size_t draw) {
    statistic(draw_weights(draw, 1, clusters, options),
              std::span(drawn).subspan(draw * outputs, outputs));
  });
  for_each_index(clusters, options.threads, [&](std::size_t c) {
    std::vector<double> all_but_one(clusters, 1.0);
    all_but_one[c] = 0;
    statistic(all_but_one, std::span(left_out).subspan(c * outputs, outputs));
  });
  for (std::size_t o = 0; o < outputs; ++o) {
    std::vector<double> values, jackknife;
    for (std::size_t draw = 0; draw < draws; ++draw) {
      if (!std::isnan(drawn[draw * outputs + o])) values.push_back(drawn[draw * outputs + o]);
    }
    for (std::size_t c = 0; c < clusters; ++c) jackknife.push_back(left_out[c * outputs + o]);
    result[o].undefined_share = 1 - static_cast<double>(values.size()) / static_cast<double>(draws);
    if (std::isnan(estimates[o]) || 2 * values.size() < draws) continue;
    result[o].interval = interval_of(method, values, estimates[o], jackknife, options.level);
  }
  return result;
}

}  // namespace attnscope
