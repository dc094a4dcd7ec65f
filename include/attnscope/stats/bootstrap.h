// File: bootstrap.h
// Cluster bootstrap: whole clusters are drawn with replacement, the same ones for all units.
// Results depend on data, seed and stream only, not on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/stats/clusters.h"

namespace attnscope {

// NaN in both where there is no interval.
struct Interval {
  double low = 0;
  double high = 0;

  static Interval none();
  bool exists() const { return low == low && high == high; }
};

enum class IntervalMethod {
  // Bootstrap-t: Efron and Tibshirani 1993, ch. 12. A resample's standard error counts as at least
  // kLeastError of the sample's, and no end lies outside the range of the clusters' own means.
  studentised,
  bca,  // bias-corrected and accelerated: Efron 1987; acceleration by the jackknife
  percentile,
  // Percentiles of the draws moved so that their mean is the estimate: for statistics that noise
  // biases and resampling, which adds noise, biases further, such as rank correlations.
  centred,
};

// A resample that misses the few clusters an effect comes from has hardly any spread, and its
// studentised statistic is beyond all bounds. With a quarter, one cluster of n that alone has the
// value a gives the upper end 5 a/n; the exact one (Garwood 1936) is 5.6 a/n.
inline constexpr double kLeastError = 0.25;

// What an interval is, or why there is none. The numbers stand in files.
enum class IntervalKind : std::int8_t {
  missing = -2,           // a value is missing, or no prompt could be measured
  too_few_clusters = -1,  // fewer than kMinClusters
  regular = 0,            // by the method that was asked for
  point = 1,              // all clusters have the same mean: no spread
  // A few clusters carry the effect, or all but a few are the same: the unit is sparse, or so many
  // resamples have less than kLeastError of the spread that this bound decides where an end lies.
  few_clusters = 2,
};
inline constexpr IntervalKind kIntervalKinds[] = {
    IntervalKind::missing, IntervalKind::too_few_clusters, IntervalKind::regular,
    IntervalKind::point, IntervalKind::few_clusters};
// "missing values", "too few groups", "regular", "point", "few groups".
const char* interval_kind_name(IntervalKind kind);
std::optional<IntervalKind> interval_kind(std::int64_t number);

struct ResamplingOptions {
  int draws = 10000;
  double level = 0.95;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;  // tells analyses with one seed apart, below 2^16
  int threads = 1;
};

struct MeanIntervals {
  std::vector<Interval> pointwise;
  std::vector<IntervalKind> kinds;  // of the pointwise ones
  // Studentised only: all units are covered at once with probability `level`. `critical` standard
  // errors to either side, the quantile of the largest |t*| over regular units, the only ones that
  // have such an interval beside points.
  std::vector<Interval> simultaneous;
  double critical = 0;
};

// Intervals of every unit's mean over prompts. Units of another kind than `regular` take no part in
// the largest |t*|, so that none of them can widen the intervals of the others.
MeanIntervals bootstrap_means(const ClusterSums& sums, IntervalMethod method,
                              const ResamplingOptions& options);

// Any statistics of weighted clusters: `weights` says how often each cluster was drawn (all 1 for
// the data as they are), results go to `out`. A result may be NaN where it is not defined.
using ClusterStatistic =
    std::function<void(std::span<const double> weights, std::span<double> out)>;

struct StatisticInterval {
  double estimate = 0;
  Interval interval;
  double undefined_share = 0;  // of draws in which the statistic was NaN; they are left out
};

// Intervals, any but studentised, of `outputs` statistics that share their draws. Fewer than
// kMinClusters clusters, an undefined estimate, or more than half of the draws undefined: none.
std::vector<StatisticInterval> bootstrap_statistics(const ClusterStatistic& statistic,
                                                    std::size_t outputs, std::size_t clusters,
                                                    IntervalMethod method,
                                                    const ResamplingOptions& options);

}  // namespace attnscope
