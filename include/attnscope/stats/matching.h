// File: matching.h
// Random sets of units that look like a given set, and where a value lies among controls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

struct MatchOptions {
  int sets = 1000;
  // Standard deviation of the noise on the wanted traits, in standard deviations of each trait over
  // all units: 0 always picks the nearest.
  double jitter = 0.5;
  std::uint64_t seed = 0;
};

// Sets with as many units of every layer as `target`, none of them in it: for each member, in
// random order, the nearest unit of its layer that is still free, in standardised traits plus
// jitter. `traits` [units, n_traits], such as log output norm, entropy and sink mass. Each set is
// in ascending order. Empty where some layer has too few other units.
std::vector<std::vector<int>> matched_sets(std::span<const int> target, std::span<const int> layers,
                                           std::span<const double> traits,
                                           const MatchOptions& options);

// Share of `controls` below `value`, ties counted half; NaN without controls.
double percentile_among(double value, std::span<const double> controls);

}  // namespace attnscope
