#include "run/experiment.h"

#include <unistd.h>

#include "attnscope/render/terminal.h"
#include "console/experiment_json.h"
#include "console/experiment_text.h"

namespace attnscope::run {

void show_experiment(const ExperimentResult& result, const DeliveryOptions& output,
                     DescribeExperiment describe) {
  if (!output.quiet) console::print_warnings(result.warnings);
  if (output.json) {
    console::print(console::experiment_json(result) + "\n");
  } else if (output.dry_run) {
    console::print(result.plan + "\nNothing was computed or written (--dry-run).\n");
  } else if (!output.quiet || result.path.empty()) {
    // Without a file what is printed is the only result.
    console::print(describe(result));
  }
}

std::string describe_effects(const ExperimentResult& result) {
  return console::experiment_text(result, terminal_style_of(STDOUT_FILENO));
}

}  // namespace attnscope::run
