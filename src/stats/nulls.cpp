#include "attnscope/stats/nulls.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "attnscope/stats/rank_correlation.h"
#include "parallel.h"
#include "weighted_sums.h"

namespace attnscope {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kUnitsAtOnce = 256;
constexpr std::size_t kFlipsAtOnce = 64;
// A flip that gives the same statistic but for rounding is as extreme.
constexpr double kTie = 1 - 1e-9;

// The flips: all 2^clusters where they are no more than the draws asked for, else random ones.
struct Flips {
  std::size_t clusters = 0;
  std::size_t count = 0;
  bool exact = false;
  ResamplingOptions options;

  Flips(std::size_t n, const ResamplingOptions& o) : clusters(n), options(o) {
    const auto draws = static_cast<std::size_t>(std::max(0, o.draws));
    exact = n < 63 && (std::size_t{1} << n) <= draws;
    count = exact ? std::size_t{1} << n : draws;
  }

  std::vector<double> signs(std::size_t first, std::size_t rows) const {
    std::vector<double> result(rows * clusters);
    for (std::size_t row = 0; row < rows; ++row) {
      Philox random = random_of(options.seed, RandomUse::sign_flip, options.stream, first + row);
      std::uint32_t bits = 0;
      for (std::size_t c = 0; c < clusters; ++c) {
        if (!exact && c % 32 == 0) bits = random.next();
        const bool flip = exact ? ((first + row) >> c & 1) != 0 : (bits >> (c % 32) & 1) != 0;
        result[row * clusters + c] = flip ? -1 : 1;
      }
    }
    return result;
  }

  double p_of(std::size_t extreme) const {
    if (exact) return static_cast<double>(extreme) / static_cast<double>(count);
    return (1 + static_cast<double>(extreme)) / (1 + static_cast<double>(count));
  }
};

// Squared studentised means of some units under flips. The factor C/(C−1), the same for all, is
// left out.
class FlippedStatistics {
 public:
  FlippedStatistics(const ClusterSums& sums, std::size_t first, std::size_t units)
      : units_(units),
        common_size_(sums.equal_sizes() ? sums.sizes[0] : 0),
        prompts_(sums.prompts),
        columns_(sums.clusters, (sums.equal_sizes() ? 1 : 2) * units),
        squares_(units) {
    for (const double size : sums.sizes) squared_sizes_ += size * size;
    for (std::size_t u = 0; u < units; ++u) {
      const std::span<const double> s = sums.of(first + u);
      for (std::size_t c = 0; c < sums.clusters; ++c) {
        columns_.at(c, u) = s[c];
        if (common_size_ == 0) columns_.at(c, units + u) = s[c] * sums.sizes[c];
        squares_[u] += s[c] * s[c];
      }
    }
  }

  // take(row, unit, squared statistic, |total|)
  template <typename Take>
  void evaluate(std::span<const double> signs, std::size_t rows, const Take& take) const {
    std::vector<double> totals;
    weighted_sums(signs, rows, columns_, totals);
    for (std::size_t row = 0; row < rows; ++row) {
      const double* total = totals.data() + row * columns_.stride();
      for (std::size_t u = 0; u < units_; ++u) {
        const double mean = total[u] / prompts_;
        const double sized = common_size_ > 0 ? common_size_ * total[u] : total[units_ + u];
        // Σ (sign · sum − mean · size)², expanded: a flip leaves the squares as they are.
        const double spread = squares_[u] - 2 * mean * sized + mean * mean * squared_sizes_;
        double statistic = total[u] == 0 ? 0 : kInfinity;
        if (spread > 1e-12 * squares_[u]) statistic = total[u] * total[u] / spread;
        take(row, u, statistic, std::fabs(total[u]));
      }
    }
  }

 private:
  std::size_t units_;
  double common_size_;  // of all clusters; 0 where they differ
  double prompts_;
  double squared_sizes_ = 0;
  ClusterColumns columns_;
  std::vector<double> squares_;
};

// The units that a stratified correlation counts, stratum after stratum. A unit that it leaves out
// must not be moved into it.
struct CountedUnits {
  std::vector<double> x, y;
  std::vector<int> strata;
  std::vector<std::size_t> sizes;  // of the strata

  CountedUnits(std::span<const double> all_x, std::span<const double> all_y,
               std::span<const int> all_strata) {
    std::map<int, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < all_x.size(); ++i) {
      if (!std::isnan(all_x[i]) && !std::isnan(all_y[i])) members[all_strata[i]].push_back(i);
    }
    for (const auto& [stratum, places] : members) {
      sizes.push_back(places.size());
      for (const std::size_t i : places) {
        x.push_back(all_x[i]);
        y.push_back(all_y[i]);
        strata.push_back(stratum);
      }
    }
  }

  // Pairs within strata, of other values of x.
  PairCounts count(std::span<const double> values) const {
    PairCounts total;
    std::size_t begin = 0;
    for (const std::size_t n : sizes) {
      const PairCounts counts =
          count_pairs(values.subspan(begin, n), std::span(y).subspan(begin, n));
      total.pairs += counts.pairs;
      total.tied_x += counts.tied_x;
      total.tied_y += counts.tied_y;
      total.score += counts.score;
      begin += n;
    }
    return total;
  }
};

struct Observed {
  Variation variation = Variation::full;
  double statistic = 0;
  double total = 0;
};

}  // namespace

SignFlipResult sign_flip_test(const ClusterSums& sums, const ResamplingOptions& options) {
  SignFlipResult result;
  result.p.assign(sums.units, kNaN);
  result.p_adjusted.assign(sums.units, kNaN);
  const Flips flips(sums.clusters, options);
  result.exact = flips.exact;
  if (sums.clusters < kMinClusters) return result;

  std::vector<Observed> observed(sums.units);
  std::vector<double> maxima(flips.count, 0.0);
  const std::size_t blocks = (flips.count + kFlipsAtOnce - 1) / kFlipsAtOnce;
  for (std::size_t first = 0; first < sums.units; first += kUnitsAtOnce) {
    const std::size_t units = std::min(kUnitsAtOnce, sums.units - first);
    const FlippedStatistics flipped(sums, first, units);
    const std::vector<double> as_they_are(sums.clusters, 1.0);
    flipped.evaluate(as_they_are, 1, [&](std::size_t, std::size_t u, double t, double total) {
      observed[first + u] = {estimate_mean(sums, first + u).variation, t, total};
    });
    std::vector<std::size_t> extreme(blocks * units);
    for_each_index(blocks, options.threads, [&](std::size_t block) {
      const std::size_t begin = block * kFlipsAtOnce;
      const std::size_t rows = std::min(kFlipsAtOnce, flips.count - begin);
      flipped.evaluate(flips.signs(begin, rows), rows,
                       [&](std::size_t row, std::size_t u, double t, double total) {
                         const Observed& seen = observed[first + u];
                         if (seen.variation == Variation::missing) return;
                         const bool constant = seen.variation == Variation::constant;
                         const bool as_extreme =
                             constant ? total >= kTie * seen.total : t >= kTie * seen.statistic;
                         extreme[block * units + u] += as_extreme ? 1 : 0;
                         if (constant) return;
                         maxima[begin + row] = std::max(maxima[begin + row], t);
                       });
    });
    for (std::size_t u = 0; u < units; ++u) {
      if (observed[first + u].variation == Variation::missing) continue;
      std::size_t count = 0;
      for (std::size_t block = 0; block < blocks; ++block) count += extreme[block * units + u];
      result.p[first + u] = flips.p_of(count);
    }
  }

  std::sort(maxima.begin(), maxima.end());
  for (std::size_t u = 0; u < sums.units; ++u) {
    if (observed[u].variation == Variation::missing) continue;
    const double own = kTie * observed[u].statistic;
    const auto as_extreme = maxima.end() - std::lower_bound(maxima.begin(), maxima.end(), own);
    const double adjusted =
        observed[u].total == 0 ? 1 : flips.p_of(static_cast<std::size_t>(as_extreme));
    result.p_adjusted[u] = std::max(adjusted, result.p[u]);
  }
  return result;
}

std::vector<double> permute_within(std::span<const double> values, std::span<const int> strata,
                                   std::uint64_t seed, std::uint64_t stream) {
  std::map<int, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < values.size(); ++i) members[strata[i]].push_back(i);
  Philox random = random_of(seed, RandomUse::permutation, 0, stream);
  std::vector<double> result(values.begin(), values.end());
  for (const auto& [stratum, places] : members) {
    for (std::size_t i = places.size(); i > 1; --i) {
      std::swap(result[places[i - 1]], result[places[random.below(static_cast<std::uint32_t>(i))]]);
    }
  }
  return result;
}

StratumTest within_stratum_test(std::span<const double> x, std::span<const double> y,
                                std::span<const int> strata, const ResamplingOptions& options) {
  const CountedUnits units(x, y, strata);
  const PairCounts counts = units.count(units.x);
  if (std::isnan(tau_b(counts))) return {.p = kNaN};
  if (counts.tied_x == 0 && counts.tied_y == 0 && counts.pairs <= kMostExactPairs) {
    return {.p = untied_score_p(counts.score, units.sizes)};
  }
  const auto draws = static_cast<std::size_t>(options.draws);
  std::vector<char> as_extreme(draws);
  for_each_index(draws, options.threads, [&](std::size_t draw) {
    const std::vector<double> permuted =
        permute_within(units.x, units.strata, options.seed, (options.stream & 0xffff) << 40 | draw);
    // A permutation leaves the ties as they are, so that the score orders like tau-b.
    as_extreme[draw] = std::abs(units.count(permuted).score) >= std::abs(counts.score) ? 1 : 0;
  });
  const auto count = static_cast<double>(std::count(as_extreme.begin(), as_extreme.end(), 1));
  return {.p = (1 + count) / (1 + static_cast<double>(draws)), .shuffles = options.draws};
}

}  // namespace attnscope
