// Whether attention ranks units as their effects do.
#pragma once

#include <vector>

#include "attnscope/probes/verdict_rule.h"

namespace attnscope {

// Means over the prompts of both halves, which the correlations rank. An effect that is NaN on some
// prompt is NaN; of a measure of attention such prompts are left out.
struct RankedMeans {
  std::vector<std::vector<double>> effects;    // [method][unit]
  std::vector<std::vector<double>> attention;  // [measure][unit]
};
RankedMeans ranked_means(const VerdictInput& input);

// Every measure with every method.
std::vector<AttentionResult> compare_ranks(const VerdictInput& input,
                                           const VerdictOptions& options);

PickedUnits pick_units(const VerdictInput& input, const VerdictOptions& options);

// |effect|, with what is rounding set to 0 so that it ranks nothing.
std::vector<double> effect_sizes(std::vector<double> effects, double noise_floor);

}  // namespace attnscope
