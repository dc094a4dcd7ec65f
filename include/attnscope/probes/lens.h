// File: lens.h
// What every layer would say (logit lens) and which head, token and MLP says it (direct
// attribution). Definitions: probes/lens/README.md.
#pragma once

#include "attnscope/probes/experiment.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// Throws Error with the exit code of its kind; ErrorKind::interrupted after a stop, with all
// committed work kept. The process must have been set up (core/device.h) before.
ExperimentResult run_lens(const LensSpec& spec, const ExperimentContext& context = {});

}  // namespace attnscope
