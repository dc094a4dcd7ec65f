// File: verdict.h
// Does attention say which heads matter? Attention measures beside effects, with a rule fixed
// before looking. Definitions: probes/verdict/README.md.
#pragma once

#include "attnscope/probes/experiment.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// Throws Error with the exit code of its kind; ErrorKind::interrupted after a stop, with all
// committed work kept. The process must have been set up (core/device.h) before.
ExperimentResult run_verdict(const VerdictSpec& spec, const ExperimentContext& context = {});

}  // namespace attnscope
