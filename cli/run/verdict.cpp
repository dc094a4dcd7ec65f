// The half of verdict that needs LibTorch: VerdictSpec → run_verdict → the finding and its tables.
#include "attnscope/probes/verdict.h"

#include "console/verdict_text.h"
#include "console/wrap.h"
#include "run/experiment.h"
#include "run/verbs.h"

namespace attnscope::run {
namespace {

std::string describe_verdict(const ExperimentResult& result) {
  return console::verdict_text(result, console::text_columns());
}

}  // namespace

int run_verdict(const VerdictSpec& spec, const std::vector<std::string>& command_line) {
  return run_experiment(spec, command_line, &attnscope::run_verdict, "cells", &describe_verdict);
}

}  // namespace attnscope::run
