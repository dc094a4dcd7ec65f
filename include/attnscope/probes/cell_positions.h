// File: cell_positions.h
// The positions that cells change, as people write them: a number is the same position of every
// prompt; `last`, "-1", a word or a column is one cell, wherever it stands in each of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnscope/probes/experiment_run.h"
#include "attnscope/probes/sweep.h"

namespace attnscope {

struct CellPosition {
  std::string name;   // "7", "last", "subject"
  int position = -1;  // of a number
  int set = -1;       // of anything else: index into SweepPrompt::position_sets
};

// Every part of `list`, in order; a range is each of its numbers, "" and "*" each position of the
// longest prompt. Parts that name the same on every prompt count once, under the first name. Adds
// position sets to the prompts. Errors (exit 2) name `option`.
std::vector<CellPosition> cell_positions(std::string_view list, const ExperimentInputs& inputs,
                                         std::string_view option,
                                         std::vector<SweepPrompt>& prompts);

// Adds to every prompt the positions that the whole of `list` names there; the index of the set.
int add_position_set(std::string_view list, const ExperimentInputs& inputs, std::string_view option,
                     std::vector<SweepPrompt>& prompts);

}  // namespace attnscope
