// File: effects.h
// Everything that is reported of the effects of one method: estimate, intervals, p.
//
// Example:
//   const EffectTable table = estimate_effects(effects, n_units, clusters, {.seed = 1});
//   table.units[3].ci;  table.units[3].p;
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/stats/bootstrap.h"

namespace attnscope {

struct EffectEstimate {
  double effect = 0;  // mean over prompts
  double se = 0;
  Interval ci;      // pointwise, studentised cluster bootstrap
  Interval ci_sim;  // simultaneous over the units of this table; regular units and points only
  IntervalKind interval_kind = IntervalKind::regular;
  double p = 0;  // NaN without sign flips
  double p_adjusted = 0;
  double minimal_detectable = 0;
  Variation variation = Variation::full;
};

struct EffectTable {
  std::vector<EffectEstimate> units;
  std::size_t clusters = 0;
  std::size_t prompts = 0;
  double critical = 0;  // half width of ci_sim in standard errors
  bool exact = false;   // p by full enumeration
};

// Effects that cannot be negative take no sign flips: anything above 0 would have the smallest p.
enum class SignFlips : std::uint8_t { on, off };

// `values` [units, prompts]: the effect of every unit on every prompt.
EffectTable estimate_effects(std::span<const double> values, std::size_t units,
                             std::span<const int> cluster_of_prompt,
                             const ResamplingOptions& options, SignFlips flips = SignFlips::on);

}  // namespace attnscope
