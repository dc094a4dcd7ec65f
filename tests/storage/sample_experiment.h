// File: sample_experiment.h
// Records of experiments with known content, and files that hold them.
#pragma once

#include <string>
#include <vector>

#include "attnscope/storage/experiment.h"

namespace attnscope::testing {

enum class CellShape {
  layer_head,           // layers 2, 3, 4 × heads 0 … 3
  layer_position,       // layers 0, 1 × positions 0 … 4
  layer_head_position,  // layers 0, 1 × heads 0, 1 × positions 0, 3, 4
  layers,               // layers 0 … 4: one axis
  ragged,               // layer_head without its last cell
  shuffled,             // layer_head, two cells exchanged
};

// Methods zero and mean; every array that an ablation has, and verdicts. Some values are NaN.
ExperimentRecord sample_experiment(const std::string& name, CellShape shape);

// A file of one kind with `prompts` prompts.
void write_experiments(const std::string& path, const std::vector<ExperimentRecord>& records,
                       int prompts = 2);

std::string file_bytes(const std::string& path);

}  // namespace attnscope::testing
