#include "attnscope/stats/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

namespace attnscope {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::int64_t pairs_of(std::int64_t n) {
  return n * (n - 1) / 2;
}

// Sum over runs of equal elements of the pairs inside the run.
template <typename Equal>
std::int64_t pairs_in_runs(std::size_t n, Equal equal) {
  std::int64_t pairs = 0;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= n; ++i) {
    if (i < n && equal(begin, i)) continue;
    pairs += pairs_of(static_cast<std::int64_t>(i - begin));
    begin = i;
  }
  return pairs;
}

// Sorts [begin, end) by merging and returns how many pairs stood in the wrong order.
std::int64_t sort_counting_swaps(std::vector<double>& values, std::vector<double>& spare,
                                 std::size_t begin, std::size_t end) {
  if (end - begin < 2) return 0;
  const std::size_t middle = begin + (end - begin) / 2;
  std::int64_t swaps = sort_counting_swaps(values, spare, begin, middle) +
                       sort_counting_swaps(values, spare, middle, end);
  std::size_t left = begin, right = middle;
  for (std::size_t out = begin; out < end; ++out) {
    const bool take_right = left == middle || (right < end && values[right] < values[left]);
    if (take_right && left < middle) swaps += static_cast<std::int64_t>(middle - left);
    spare[out] = take_right ? values[right++] : values[left++];
  }
  std::copy(spare.begin() + static_cast<std::ptrdiff_t>(begin),
            spare.begin() + static_cast<std::ptrdiff_t>(end),
            values.begin() + static_cast<std::ptrdiff_t>(begin));
  return swaps;
}

}  // namespace

// Knight 1966: sort by x, then y; the exchanges that sorting by y needs are the discordant pairs.
PairCounts count_pairs(std::span<const double> x, std::span<const double> y) {
  const std::size_t n = x.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return x[a] != x[b] ? x[a] < x[b] : y[a] < y[b]; });
  PairCounts counts;
  counts.pairs = pairs_of(static_cast<std::int64_t>(n));
  counts.tied_x =
      pairs_in_runs(n, [&](std::size_t a, std::size_t b) { return x[order[a]] == x[order[b]]; });
  const std::int64_t tied_both = pairs_in_runs(n, [&](std::size_t a, std::size_t b) {
    return x[order[a]] == x[order[b]] && y[order[a]] == y[order[b]];
  });
  std::vector<double> by_x(n), spare(n);
  for (std::size_t i = 0; i < n; ++i) by_x[i] = y[order[i]];
  const std::int64_t discordant = sort_counting_swaps(by_x, spare, 0, n);
  counts.tied_y =
      pairs_in_runs(n, [&](std::size_t a, std::size_t b) { return by_x[a] == by_x[b]; });
  const std::int64_t untied = counts.pairs - counts.tied_x - counts.tied_y + tied_both;
  counts.score = untied - 2 * discordant;
  return counts;
}

double tau_b(const PairCounts& counts) {
  const auto untied_x = static_cast<double>(counts.pairs - counts.tied_x);
  const auto untied_y = static_cast<double>(counts.pairs - counts.tied_y);
  if (untied_x <= 0 || untied_y <= 0) return kNaN;
  return static_cast<double>(counts.score) / std::sqrt(untied_x * untied_y);
}

double kendall_tau_b(std::span<const double> x, std::span<const double> y) {
  return tau_b(count_pairs(x, y));
}

double stratified_tau_b(std::span<const double> x, std::span<const double> y,
                        std::span<const int> strata) {
  std::map<int, std::pair<std::vector<double>, std::vector<double>>> by_stratum;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) || std::isnan(y[i])) continue;
    auto& [xs, ys] = by_stratum[strata[i]];
    xs.push_back(x[i]);
    ys.push_back(y[i]);
  }
  PairCounts total;
  for (const auto& [stratum, values] : by_stratum) {
    const PairCounts counts = count_pairs(values.first, values.second);
    total.pairs += counts.pairs;
    total.tied_x += counts.tied_x;
    total.tied_y += counts.tied_y;
    total.score += counts.score;
  }
  return tau_b(total);
}

// A permutation of k values is one of k − 1 with one more value put in, which adds 0 … k − 1
// inversions, each as likely. The null is symmetric, so the lower tail is all that is needed.
double untied_score_p(std::int64_t score, std::span<const std::size_t> sizes) {
  std::int64_t pairs = 0;
  for (const std::size_t n : sizes) pairs += pairs_of(static_cast<std::int64_t>(n));
  if (score == 0) return 1;
  const auto most = static_cast<std::size_t>((pairs - std::abs(score)) / 2);
  std::vector<double> chance(most + 1), next(most + 1);  // of 0 … most inversions
  chance[0] = 1;
  for (const std::size_t n : sizes) {
    for (std::size_t k = 2; k <= n; ++k) {
      double window = 0;
      for (std::size_t i = 0; i <= most; ++i) {
        window += chance[i];
        if (i >= k) window = std::max(0.0, window - chance[i - k]);
        next[i] = window / static_cast<double>(k);
      }
      chance.swap(next);
    }
  }
  const double p = 2 * std::accumulate(chance.begin(), chance.end(), 0.0);
  // It is never 0, however small.
  return std::clamp(p, std::numeric_limits<double>::min(), 1.0);
}

std::vector<double> mid_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
    begin = end;
  }
  return ranks;
}

double spearman(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> rx = mid_ranks(x), ry = mid_ranks(y);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (rx[i] - mean) * (rx[i] - mean);
    yy += (ry[i] - mean) * (ry[i] - mean);
    xy += (rx[i] - mean) * (ry[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kNaN;
}

}  // namespace attnscope
