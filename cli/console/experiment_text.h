// File: experiment_text.h
// The result of an experiment for people.
#pragma once

#include <string>

#include "attnscope/probes/experiment.h"
#include "attnscope/render/terminal.h"

namespace attnscope::console {

// What was measured, the largest effects of each method as a table, and all of them as a grid
// where the units fill one.
std::string experiment_text(const ExperimentResult& result, const TerminalStyle& style);

// A record that was read from a file: its paragraph, the `rows` largest effects of each method and
// all of them as a grid. Of a record without effects the names and axes of its arrays.
std::string record_text(const ExperimentRecord& record, int rows, const TerminalStyle& style);

}  // namespace attnscope::console
