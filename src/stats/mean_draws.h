// File: mean_draws.h
// What the cluster bootstrap draws.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "attnscope/stats/bootstrap.h"

namespace attnscope {

// How often each cluster is drawn, one row a draw.
std::vector<double> draw_weights(std::size_t first, std::size_t rows, std::size_t clusters,
                                 const ResamplingOptions& options);

// All draws of the means of some units, as deviations from the estimate; studentised ones in
// standard errors of the draw, each at least kLeastError of the unit's own.
class UnitDraws {
 public:
  // `estimates` are of the units from `first` on.
  UnitDraws(const ClusterSums& sums, std::span<const MeanEstimate> estimates, std::size_t first,
            IntervalMethod method, const ResamplingOptions& options);

  std::vector<double>& of(std::size_t unit) { return values_[unit]; }
  // Share of the draws in which kLeastError was used.
  double bounded_share(std::size_t unit) const;
  // The largest |value| of each draw over regular units.
  void raise_maxima(std::span<const IntervalKind> kinds, int threads,
                    std::vector<double>& maxima) const;

 private:
  std::size_t blocks() const;
  std::size_t begin_of(std::size_t block) const;

  std::size_t draws_;
  std::vector<std::vector<double>> values_;        // [unit][draw]
  std::vector<std::atomic<std::size_t>> bounded_;  // draws by unit
};

}  // namespace attnscope
