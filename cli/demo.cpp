// attnscope demo: options → DemoSpec → attnscope-run.
#include "command.h"
#include "launch.h"
#include "shared_options.h"

namespace attnscope::cli {

int run_demo(const Command& command, const CommandLine& line) {
  DemoSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.group("Output");
  options.text({"-o,--out", "DIR", "folder to write into (default: attnscope-demo)"}, spec.out);
  options.flag({"--force", "", "replace the files of an earlier demo (default: refuse)"},
               spec.force);
  add_json_option(options, spec.json);
  options.flag({"--quiet", "", "no progress"}, spec.quiet);
  options.group("How to compute");
  add_threads_option(options, spec.threads);
  if (!verb.parse(line)) return 0;
  validate(spec);
  exec_runner({.spec = spec, .command_line = line.all});
}

}  // namespace attnscope::cli
