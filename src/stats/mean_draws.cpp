#include "mean_draws.h"

#include <algorithm>
#include <cmath>

#include "parallel.h"
#include "weighted_sums.h"

namespace attnscope {
namespace {

constexpr std::size_t kDrawsAtOnce = 64;

// Draws of some units' means, as deviations from the estimate.
class MeanDraws {
 public:
  // Of the units from `first` on.
  MeanDraws(const ClusterSums& sums, std::span<const MeanEstimate> estimates, std::size_t first)
      : clusters_(sums.clusters),
        units_(estimates.size()),
        sizes_(sums.sizes),
        equal_sizes_(sums.equal_sizes()),
        columns_(sums.clusters, (equal_sizes_ ? 2 : 3) * estimates.size()) {
    for (std::size_t u = 0; u < units_; ++u) {
      const MeanEstimate& estimate = estimates[u];
      if (estimate.variation == Variation::missing) continue;
      const std::span<const double> s = sums.of(first + u);
      for (std::size_t c = 0; c < clusters_; ++c) {
        const double residual = s[c] - estimate.mean * sizes_[c];
        columns_.at(c, u) = residual;
        columns_.at(c, units_ + u) = residual * residual;
        if (!equal_sizes_) columns_.at(c, 2 * units_ + u) = residual * sizes_[c];
      }
    }
  }

  // For draws first … first + rows − 1: take(row, unit, deviation, standard error).
  template <typename Take>
  void draw(std::size_t first, std::size_t rows, const ResamplingOptions& options,
            const Take& take) const {
    const std::vector<double> weights = draw_weights(first, rows, clusters_, options);
    std::vector<double> totals;
    weighted_sums(weights, rows, columns_, totals);
    const auto n = static_cast<double>(clusters_);
    for (std::size_t row = 0; row < rows; ++row) {
      double prompts = 0, squared_sizes = 0;
      for (std::size_t c = 0; c < clusters_; ++c) {
        const double weight = weights[row * clusters_ + c];
        prompts += weight * sizes_[c];
        squared_sizes += weight * sizes_[c] * sizes_[c];
      }
      const double* total = totals.data() + row * columns_.stride();
      for (std::size_t u = 0; u < units_; ++u) {
        const double deviation = total[u] / prompts;
        const double sized = equal_sizes_ ? sizes_[0] * total[u] : total[2 * units_ + u];
        // Σ (residual − deviation · size)², expanded.
        const double spread =
            total[units_ + u] - 2 * deviation * sized + deviation * deviation * squared_sizes;
        const bool constant = spread <= 1e-12 * total[units_ + u];
        take(row, u, deviation, constant ? 0 : std::sqrt(n / (n - 1) * spread) / prompts);
      }
    }
  }

 private:
  std::size_t clusters_, units_;
  const std::vector<double>& sizes_;
  bool equal_sizes_;
  ClusterColumns columns_;
};

}  // namespace

std::vector<double> draw_weights(std::size_t first, std::size_t rows, std::size_t clusters,
                                 const ResamplingOptions& options) {
  std::vector<double> weights(rows * clusters);
  for (std::size_t row = 0; row < rows; ++row) {
    Philox random = random_of(options.seed, RandomUse::bootstrap, options.stream, first + row);
    for (std::size_t i = 0; i < clusters; ++i) {
      weights[row * clusters + random.below(static_cast<std::uint32_t>(clusters))] += 1;
    }
  }
  return weights;
}

UnitDraws::UnitDraws(const ClusterSums& sums, std::span<const MeanEstimate> estimates,
                     std::size_t first, IntervalMethod method, const ResamplingOptions& options)
    : draws_(static_cast<std::size_t>(options.draws)),
      values_(estimates.size(), std::vector<double>(draws_)),
      bounded_(estimates.size()) {
  const MeanDraws source(sums, estimates, first);
  const auto value_of = [&](std::size_t u, double deviation, double se) {
    const double least = kLeastError * estimates[u].se;
    if (method != IntervalMethod::studentised || !(least > 0)) return deviation;
    if (se < least) ++bounded_[u];
    return deviation / std::max(se, least);
  };
  for_each_index(blocks(), options.threads, [&](std::size_t block) {
    const std::size_t begin = begin_of(block);
    source.draw(begin, begin_of(block + 1) - begin, options,
                [&](std::size_t row, std::size_t u, double deviation, double se) {
                  values_[u][begin + row] = value_of(u, deviation, se);
                });
  });
}

double UnitDraws::bounded_share(std::size_t unit) const {
  return static_cast<double>(bounded_[unit]) / static_cast<double>(draws_);
}

void UnitDraws::raise_maxima(std::span<const IntervalKind> kinds, int threads,
                             std::vector<double>& maxima) const {
  for_each_index(blocks(), threads, [&](std::size_t block) {
    for (std::size_t u = 0; u < values_.size(); ++u) {
      if (kinds[u] != IntervalKind::regular) continue;
      for (std::size_t draw = begin_of(block); draw < begin_of(block + 1); ++draw) {
        maxima[draw] = std::max(maxima[draw], std::fabs(values_[u][draw]));
      }
    }
  });
}

std::size_t UnitDraws::blocks() const {
  return (draws_ + kDrawsAtOnce - 1) / kDrawsAtOnce;
}

std::size_t UnitDraws::begin_of(std::size_t block) const {
  return std::min(block * kDrawsAtOnce, draws_);
}

}  // namespace attnscope
