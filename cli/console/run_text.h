// File: run_text.h
// How a result was computed, as a sentence.
#pragma once

#include <string>

#include "attnscope/probes/experiment.h"

namespace attnscope::console {

// "Computed on cpu in f32 by aten, 2 threads, in 1.2 s (340 cells/s)."
std::string computed_text(const ExperimentResult& result);

}  // namespace attnscope::console
