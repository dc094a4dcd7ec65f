// The half of ablate that needs LibTorch: AblateSpec → run_ablation → tables.
#include "attnscope/probes/ablation.h"
#include "run/experiment.h"
#include "run/verbs.h"

namespace attnscope::run {

int run_ablate(const AblateSpec& spec, const std::vector<std::string>& command_line) {
  return run_experiment(spec, command_line, &run_ablation, "cells", &describe_effects);
}

}  // namespace attnscope::run
