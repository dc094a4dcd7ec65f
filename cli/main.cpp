// The attnscope command: options, help and every verb that works without LibTorch. Verbs that
// compute hand their spec to attnscope-run.
#include <string>
#include <vector>

#include "command.h"
#include "console/output.h"

int main(int argc, char** argv) {
  attnscope::console::prepare_streams();
  return attnscope::console::guarded([&] {
    const std::vector<std::string> arguments(argv, argv + argc);
    return attnscope::cli::run_command_line(arguments);
  });
}
