// File: reference_files.h
// What an ablation reads besides pairs: prompts whose means are used, and a vector.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "attnscope/probes/experiment_run.h"
#include "attnscope/probes/sweep.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// The prompts of --reference, a prompt file as for capture.
std::vector<TokenRow> read_reference_rows(const AblateSpec& spec, const ExperimentInputs& inputs);

// A vector of numbers: .npy of one axis in f4 or f8 of this machine's byte order, or a JSON list.
// Throws Error AB5n (exit 2).
at::Tensor read_vector(const std::string& path);

}  // namespace attnscope
