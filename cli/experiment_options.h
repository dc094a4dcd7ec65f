// File: experiment_options.h
// Options that the causal experiments have in common: pairs, metric, sweep, result.
#pragma once

#include <string>

#include "attnscope/spec/experiment_specs.h"
#include "command.h"
#include "shared_options.h"

namespace attnscope::cli {

// --pairs and what is said about a file, and --prompt or --ids with their answers.
void add_pair_options(Verb& verb, PairSource& pairs);
// The same for a verb that reads the clean prompt alone.
void add_clean_pair_options(Verb& verb, PairSource& pairs);
// --pairs alone, for experiments that need many.
void add_pair_file_options(Verb& verb, PairSource& pairs);
// --metric and --at.
void add_metric_options(Verb& verb, MetricOptions& metric);
// --exact, --naive, --verify and --resamples; the group is "How to compute".
void add_sweep_options(Options& options, SweepOptions& sweep);
// -o and what belongs to it; without -o an experiment prints and writes nothing.
void add_experiment_output_options(Options& options, DeliveryOptions& output);
// --per-prompt, for a verb that stores what it measures on each prompt.
void add_per_prompt_option(Options& options, SweepOptions& sweep);
// What units are called.
void add_units_note(Verb& verb);

// Everything that ablate and patch share; `add_what` adds what is switched off or patched.
template <typename Spec>
void add_sweep_verb_options(Verb& verb, Spec& spec, void (*add_what)(Verb& verb, Spec& spec)) {
  Options& options = verb.options();
  add_model_option(options, "required", spec.model);
  add_pair_options(verb, spec.pairs);
  add_encoding_options(options, spec.encoding);
  add_metric_options(verb, spec.metric);
  add_what(verb, spec);
  add_units_note(verb);
  add_positions_note(verb, "pairs");
  add_compute_options(options, spec.compute);
  add_sweep_options(options, spec.sweep);
  add_experiment_output_options(options, spec.output);
  add_per_prompt_option(options, spec.sweep);
  add_shard_option(options, "cells", spec.shard);
  options.group("Strictness");
  add_rule_options(options, spec.strict, spec.fail_on_nan);
}

}  // namespace attnscope::cli
