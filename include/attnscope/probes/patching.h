// File: patching.h
// Activations of one run put into another, paths and edges: where does the answer come from?
// Definitions: probes/patching/README.md.
#pragma once

#include "attnscope/probes/experiment.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// Throws Error with the exit code of its kind; ErrorKind::interrupted after a stop, with all
// committed work kept. The process must have been set up (core/device.h) before.
ExperimentResult run_patching(const PatchSpec& spec, const ExperimentContext& context = {});

}  // namespace attnscope
