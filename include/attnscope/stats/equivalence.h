// File: equivalence.h
// Is an effect too small to matter, and how small an effect could have been seen?
#pragma once

#include <cstddef>

#include "attnscope/stats/clusters.h"

namespace attnscope {

// Two one-sided t tests with clusters − 1 degrees of freedom (Schuirmann 1987): p of the claim that
// the mean lies within ±delta. A standard error of 0 gives 0 or 1. NaN below kMinClusters clusters.
double equivalence_p(const MeanEstimate& estimate, std::size_t clusters, double delta);

// The smallest true effect that a two-sided 5 % test finds with 80 % power:
// (t(.975) + t(.80)) se with clusters − 1 degrees of freedom. NaN below kMinClusters clusters.
double minimal_detectable_effect(const MeanEstimate& estimate, std::size_t clusters);

}  // namespace attnscope
