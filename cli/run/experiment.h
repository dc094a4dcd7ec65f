// File: experiment.h
// What the verbs of the causal experiments have in common: run, watch, print.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attnscope/core/device.h"
#include "attnscope/probes/experiment.h"
#include "attnscope/spec/capture_spec.h"
#include "console/output.h"
#include "console/progress.h"
#include "run/signals.h"

namespace attnscope::run {

using DescribeExperiment = std::string (*)(const ExperimentResult& result);

// Warnings, then JSON, the plan or what `describe` says.
void show_experiment(const ExperimentResult& result, const DeliveryOptions& output,
                     DescribeExperiment describe);

// Effects as tables and grids.
std::string describe_effects(const ExperimentResult& result);

// `items` is what the progress bar counts.
template <typename Spec>
int run_experiment(const Spec& spec, const std::vector<std::string>& command_line,
                   ExperimentResult (*compute)(const Spec&, const ExperimentContext&),
                   const char* items, DescribeExperiment describe) {
  set_up_process({.threads = spec.compute.threads});
  ExperimentContext context{.command_line = command_line, .stop = &stop_on_signals()};
  // For a person who watches; a script has --dry-run.
  if (console::progress_visible() && !spec.output.quiet && !spec.output.dry_run) {
    context.on_plan = [](const std::string& plan) { console::note(plan + "\n"); };
  }
  return until_stopped([&] {
    ExperimentResult result;
    {
      console::ProgressBar bar(items, items);
      if (!spec.output.quiet) context.progress = &bar;
      result = compute(spec, context);
    }
    show_experiment(result, spec.output, describe);
  });
}

}  // namespace attnscope::run
