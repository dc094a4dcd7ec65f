// File: rank_correlation.h
// Rank correlations with ties: Kendall's tau-b, within strata too, and Spearman's rho.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

// Pairs of observations: all, those tied in x, those tied in y, and concordant − discordant.
struct PairCounts {
  std::int64_t pairs = 0;
  std::int64_t tied_x = 0;
  std::int64_t tied_y = 0;
  std::int64_t score = 0;
};

// O(n log n) (Knight 1966). Values must not be NaN.
PairCounts count_pairs(std::span<const double> x, std::span<const double> y);
// score / √((pairs − tied_x)(pairs − tied_y)); NaN where x or y is all tied.
double tau_b(const PairCounts& counts);

double kendall_tau_b(std::span<const double> x, std::span<const double> y);

// Kendall's tau-b over the pairs inside a stratum only: counts are summed over strata before the
// quotient, so a stratum weighs as many pairs as it has, and units of different strata are never
// compared. A unit whose x or y is NaN is left out. NaN where no stratum has an untied pair.
double stratified_tau_b(std::span<const double> x, std::span<const double> y,
                        std::span<const int> strata);

// Exact two-sided p of a score (concordant − discordant pairs, summed over strata) of values
// without ties, when every order of one of them within its strata is as likely: P(|S| ≥ |score|). S
// is the pairs less twice the inversions of a random permutation, whose numbers are those of
// Kendall 1938, convolved over strata of these sizes.
double untied_score_p(std::int64_t score, std::span<const std::size_t> sizes);

// Pearson's correlation of mid-ranks; NaN where x or y is all tied.
double spearman(std::span<const double> x, std::span<const double> y);

// Rank 1 … n of every value, ascending; tied values share the mean of their ranks.
std::vector<double> mid_ranks(std::span<const double> values);

}  // namespace attnscope
