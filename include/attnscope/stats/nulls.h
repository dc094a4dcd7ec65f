// File: nulls.h
// Tests against "no effect": sign flips of clusters, permutations within strata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/stats/bootstrap.h"

namespace attnscope {

struct SignFlipResult {
  std::vector<double> p;           // two-sided, of each unit alone
  std::vector<double> p_adjusted;  // single-step max-T over units (Westfall and Young 1993)
  bool exact = false;              // every one of the 2^clusters flips was taken
};

// Flips the sign of all values of a cluster by a fair coin, the same coins for all units, and
// compares |mean / se|. Exact where clusters are independent and their values symmetric about 0
// under the null. p = (1 + flips at least as extreme) / (1 + draws), or the share of all flips when
// 2^clusters ≤ draws. NaN below kMinClusters clusters and for units with missing values. A constant
// unit is compared by its mean and takes no part in the maximum.
SignFlipResult sign_flip_test(const ClusterSums& sums, const ResamplingOptions& options);

// The values, permuted within their stratum.
std::vector<double> permute_within(std::span<const double> values, std::span<const int> strata,
                                   std::uint64_t seed, std::uint64_t stream);

struct StratumTest {
  double p = 0;      // two-sided; NaN where tau-b is undefined
  int shuffles = 0;  // random ones that p is a share of; 0: p is exact
};

// Pairs within strata up to which p is exact; its cost grows with pairs × values.
inline constexpr std::int64_t kMostExactPairs = 200000;

// The stratified tau-b when x is permuted within strata. Exact (untied_score_p, Kendall 1938) where
// no two values of a stratum tie in x or in y; else, and above kMostExactPairs, of options.draws
// random permutations, (1 + those at least as extreme) / (1 + draws).
StratumTest within_stratum_test(std::span<const double> x, std::span<const double> y,
                                std::span<const int> strata, const ResamplingOptions& options);

}  // namespace attnscope
