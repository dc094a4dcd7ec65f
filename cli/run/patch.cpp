// The half of patch that needs LibTorch: PatchSpec → run_patching → tables.
#include "attnscope/probes/patching.h"
#include "run/experiment.h"
#include "run/verbs.h"

namespace attnscope::run {

int run_patch(const PatchSpec& spec, const std::vector<std::string>& command_line) {
  return run_experiment(spec, command_line, &run_patching, "cells", &describe_effects);
}

}  // namespace attnscope::run
