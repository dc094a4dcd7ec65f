// The half of demo that needs LibTorch: DemoSpec → run_demo, its story as it unfolds.
#include "attnscope/probes/demo.h"

#include <unistd.h>

#include "attnscope/core/device.h"
#include "console/output.h"
#include "run/signals.h"
#include "run/verbs.h"

namespace attnscope::run {

int run_demo(const DemoSpec& spec) {
  set_up_process({.threads = spec.threads});
  DemoContext context{.stop = &stop_on_signals(), .style = terminal_style_of(STDOUT_FILENO)};
  if (!spec.quiet && !spec.json) {
    context.say = [](std::string_view part) { console::print(part); };
  }
  const DemoResult result = attnscope::run_demo(spec, context);
  if (spec.json) console::print(to_json(result) + "\n");
  return 0;
}

}  // namespace attnscope::run
