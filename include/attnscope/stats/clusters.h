// File: clusters.h
// Values of many units on the same prompts, summed by cluster: the form every resampling method
// here works on. The estimand is the mean over prompts; clusters are drawn or flipped whole and may
// be of unequal size.
//
// Example:
//   const ClusterSums sums = sum_by_cluster(effects, n_units, cluster_of_prompt);
//   const MeanEstimate head = estimate_mean(sums, 3);
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attnscope {

// Below this many clusters there is no interval and no p: too few to say how much they vary.
inline constexpr std::size_t kMinClusters = 10;

struct ClusterSums {
  std::size_t units = 0;
  std::size_t clusters = 0;
  std::vector<double> sums;   // [units, clusters]
  std::vector<double> sizes;  // prompts of each cluster
  double prompts = 0;

  bool equal_sizes() const;
  std::span<const double> of(std::size_t unit) const {
    return {sums.data() + unit * clusters, clusters};
  }
};

// `values` [units, prompts]. Only clusters that occur are kept, in ascending order of their number.
ClusterSums sum_by_cluster(std::span<const double> values, std::size_t units,
                           std::span<const int> cluster_of_prompt);

// How a unit's values differ between clusters.
enum class Variation {
  missing,   // a value is NaN
  constant,  // all cluster means are equal but for rounding: the standard error is zero
  sparse,    // fewer than kMinClusters clusters differ from the commonest value, so a resample may
             // well be constant
  full,
};

struct MeanEstimate {
  double mean = 0;
  double se = 0;  // cluster-robust; exactly 0 where constant, NaN with one cluster
  Variation variation = Variation::full;
};

// Mean over prompts and its cluster-robust standard error, that of a ratio Σ sums / Σ sizes:
// se² = C/(C−1) Σ (sum − mean·size)² / prompts² (Cameron and Miller 2015, eq. 11 for a constant).
MeanEstimate estimate_mean(const ClusterSums& sums, std::size_t unit);

}  // namespace attnscope
