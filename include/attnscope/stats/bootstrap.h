// File: bootstrap.h
// Cluster bootstrap: whole clusters are drawn with replacement, the same ones for all units.
// Results depend on data, seed and stream only, not on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  studentised,  // bootstrap-t: Efron and Tibshirani 1993, ch. 12
  bca,          // bias-corrected and accelerated: Efron 1987; acceleration by the jackknife
  percentile,
  // Percentiles of the draws moved so that their mean is the estimate: for statistics that noise
  // biases and resampling, which adds noise, biases further, such as rank correlations.
  centred,
};

struct ResamplingOptions {
  int draws = 10000;
  double level = 0.95;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;  // tells analyses with one seed apart, below 2^16
  int threads = 1;
};

struct MeanIntervals {
  std::vector<Interval> pointwise;
  // Studentised only: all units are covered at once with probability `level`. `critical` standard
  // errors to either side, the quantile of the largest |t*| over units.
  std::vector<Interval> simultaneous;
  double critical = 0;
};

// Intervals of every unit's mean over prompts. Fewer than kMinClusters clusters: none. A constant
// unit's interval is its point; it takes no part in the largest |t*|. A sparse unit has no
// studentised interval and takes no part either.
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
