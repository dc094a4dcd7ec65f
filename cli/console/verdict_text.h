// File: verdict_text.h
// The result of a verdict for people.
#pragma once

#include <string>

#include "attnscope/probes/experiment.h"

namespace attnscope::console {

// The finding, tables of the strongest units and of the rank correlations, the controls, and what
// was written; sentences in lines of `columns` (wrap.h).
std::string verdict_text(const ExperimentResult& result, int columns = 0);

}  // namespace attnscope::console
