// File: edits.h
// From an Edit to the tensor it changes.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "attnscope/probes/sweep.h"
#include "base_run.h"

namespace attnscope {

// The positions that an edit names on one prompt; empty = all.
const std::vector<int>& q_positions_of(const Edit& edit, const SweepPrompt& prompt);
const std::vector<int>& k_positions_of(const Edit& edit, const SweepPrompt& prompt);

// The new value for the selected part of one row, without the batch axis; undefined where the
// operation needs none. `row` is the prompt's place in the base.
at::Tensor new_value(const Edit& edit, const SweepPrompt& prompt, const BaseRun& base, int row);

// Makes an edit of a value site on one whole row of it [q …], in place.
void apply_edit(at::Tensor row, const Edit& edit, const SweepPrompt& prompt, const BaseRun& base,
                int base_row);

// The same as an intervention on row `batch_row` of a run.
Intervention as_intervention(const Edit& edit, const SweepPrompt& prompt, const BaseRun& base,
                             int base_row, int batch_row);

}  // namespace attnscope
