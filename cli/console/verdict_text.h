// File: verdict_text.h
// The result of a verdict for people.
#pragma once

#include <string>

#include "attnscope/probes/experiment.h"

namespace attnscope::console {

// The finding, one table of the strongest units, the controls, and what was written.
std::string verdict_text(const ExperimentResult& result);

}  // namespace attnscope::console
