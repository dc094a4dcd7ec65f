// Whether attention ranks units as their effects do.
#pragma once

#include <vector>

#include "attnscope/probes/verdict_rule.h"

namespace attnscope {

// Every measure with every method.
std::vector<AttentionResult> compare_ranks(const VerdictInput& input,
                                           const VerdictOptions& options);

PickedUnits pick_units(const VerdictInput& input, const VerdictOptions& options);

// |effect|, with what is rounding set to 0 so that it ranks nothing.
std::vector<double> effect_sizes(std::vector<double> effects, double noise_floor);

}  // namespace attnscope
