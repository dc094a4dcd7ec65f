// File: optimal.h
// Optimal ablation (Li and Janson 2024): the constant output of a unit that costs least on the
// prompts at hand, a* = argmin_a E[cost(x; unit := a)].
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "attnscope/probes/ablation_cells.h"

namespace attnscope {

struct OptimalOptions {
  MetricChoice metric = MetricChoice::logit_diff;
  int steps = 40;  // of Adam (Kingma and Ba 2015)
  int prompts_a_step = 16;
  double step_size = 0.1;  // in units of the spread of the unit's output
  std::uint64_t seed = 0;  // of the order of prompts
  const std::atomic<bool>* stop = nullptr;
};

// Throws Error AB31 (exit 2) for metrics without a gradient.
void check_has_gradient(MetricChoice metric);

// One constant for every unit that occurs in `sets`, by its name. The cost is the metric where less
// is better (loss, KL), else its negative. Starts at the mean of values.means; of zero, the mean
// and the end of the descent the cheapest on all prompts is kept, so that the result never costs
// more than those two. Throws what check_has_gradient() does.
std::map<std::string, at::Tensor> optimal_constants(const Model& model,
                                                    const std::vector<UnitSet>& sets,
                                                    const std::vector<SweepPrompt>& prompts,
                                                    const MethodValues& values,
                                                    const OptimalOptions& options);

}  // namespace attnscope
