// File: direct_effects.h
// Direct effects of cells: what they add to the logits with all later layers and the final norm
// held at the clean run (Wang et al. 2022, Rushing and Nanda 2024).
#pragma once

#include <vector>

#include "attnscope/probes/sweep.h"

namespace attnscope {

// Arrays are [cell prompt]; NaN where the cell does not exist on the prompt.
struct DirectEffects {
  std::vector<double> effects;
  std::vector<double> placebo_effects;  // empty without a placebo metric
};

// Throws Error SW3n (exit 2) for cells and metrics that have no direct effect.
void check_direct_effects(const ModelConfig& config, const std::vector<Cell>& cells,
                          const std::vector<SweepPrompt>& prompts, MetricChoice metric);

// Of cells that change z, attn_out, mlp_out or mlp_post, of one layer where norms come after the
// sums. One forward pass a prompt and one product a cell. Throws what check_direct_effects() does
// for other cells and for metrics that do not read one position.
DirectEffects direct_effects(const Model& model, const std::vector<Cell>& cells,
                             const std::vector<SweepPrompt>& prompts,
                             const SweepSettings& settings);

}  // namespace attnscope
