// File: experiment_text.h
// The result of an experiment for people.
#pragma once

#include <string>

#include "attnscope/probes/experiment.h"
#include "attnscope/render/terminal.h"

namespace attnscope::console {

// What was measured, the largest effects of each method as a table, and all of them as a grid
// where the units fill one; for a verdict its paragraph first.
std::string experiment_text(const ExperimentResult& result, const TerminalStyle& style);

}  // namespace attnscope::console
