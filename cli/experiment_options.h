// File: experiment_options.h
// Options that the causal experiments have in common: pairs, metric, sweep, result.
#pragma once

#include <string>

#include "attnscope/spec/experiment_specs.h"
#include "command.h"

namespace attnscope::cli {

// --pairs and what is said about a file, and --prompt or --ids with their answers.
void add_pair_options(Verb& verb, PairSource& pairs);
// --pairs alone, for experiments that need many.
void add_pair_file_options(Verb& verb, PairSource& pairs);
// --metric and --at.
void add_metric_options(Verb& verb, MetricOptions& metric);
// --exact, --naive, --verify and --resamples; the group is "How to compute".
void add_sweep_options(Options& options, SweepOptions& sweep);
// -o and what belongs to it; without -o an experiment prints and writes nothing.
void add_experiment_output_options(Options& options, DeliveryOptions& output);
// What units are called.
void add_units_note(Verb& verb);

}  // namespace attnscope::cli
