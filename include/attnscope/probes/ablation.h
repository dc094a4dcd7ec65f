// File: ablation.h
// Units switched off one by one, or in sets: what does the metric lose? Definitions:
// probes/ablation/README.md.
#pragma once

#include "attnscope/probes/experiment.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// Throws Error with the exit code of its kind; ErrorKind::interrupted after a stop, with all
// committed work kept. The process must have been set up (core/device.h) before.
ExperimentResult run_ablation(const AblateSpec& spec, const ExperimentContext& context = {});

}  // namespace attnscope
