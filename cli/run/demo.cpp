// The half of demo that needs LibTorch: DemoSpec → run_demo, whose story is printed as it grows.
#include "attnscope/probes/demo.h"

#include <unistd.h>

#include "attnscope/core/device.h"
#include "attnscope/support/error.h"
#include "console/output.h"
#include "run/signals.h"
#include "run/verbs.h"

namespace attnscope::run {

int run_demo(const DemoSpec& spec, const std::vector<std::string>& command_line) {
  set_up_process({.threads = spec.threads});
  DemoContext context{.command_line = command_line,
                      .stop = &stop_on_signals(),
                      .style = terminal_style_of(STDOUT_FILENO)};
  if (!spec.json && !spec.quiet) context.say = console::print;
  return until_stopped([&] {
    const DemoResult result = attnscope::run_demo(spec, context);
    if (spec.json) console::print(to_json(result) + "\n");
  });
}

}  // namespace attnscope::run
