// The half of verdict that needs LibTorch: VerdictSpec → run_verdict → the finding and its tables.
#include "attnscope/probes/verdict.h"

#include "console/verdict_text.h"
#include "run/experiment.h"
#include "run/verbs.h"

namespace attnscope::run {

int run_verdict(const VerdictSpec& spec, const std::vector<std::string>& command_line) {
  return run_experiment(spec, command_line, &attnscope::run_verdict, "cells",
                        &console::verdict_text);
}

}  // namespace attnscope::run
