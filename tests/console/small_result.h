// File: small_result.h
// A result of two methods on three heads, as an experiment gives it.
#pragma once

#include "attnscope/probes/experiment.h"

namespace attnscope::testing {

// The heads are 0.0, 0.1 and 1.0; the last has no interval under the second method.
ExperimentResult small_result();

// The same of one method by layer and position: two layers, three positions.
ExperimentResult small_patch();

}  // namespace attnscope::testing
