// Runs one capture in a process of its own, so that a test can kill it or take its disk away.
//   capture_helper SPEC.json SHARD_FLOP KILL_AFTER_MICROSECONDS
// The time counts from the moment the plan is made; 0 = do not. Prints the warnings of the run.
// Leaves with the error's exit code, and prints its message.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "attnscope/capture/capture.h"
#include "attnscope/core/device.h"
#include "attnscope/spec/spec_json.h"
#include "attnscope/support/error.h"

int main(int argc, char** argv) {
  using namespace attnscope;
  if (argc != 4) return 99;
  const long kill_after = std::atol(argv[3]);
  int code = 0;
  try {
    set_up_process({.threads = 1});
    CaptureContext context;
    context.limits.shard_flop = std::atof(argv[2]);
    context.on_plan = [kill_after](const CapturePlan&) {
      if (kill_after == 0) return;
      std::thread([kill_after] {
        ::usleep(static_cast<useconds_t>(kill_after));
        ::kill(::getpid(), SIGKILL);
      }).detach();
    };
    const auto result = run_capture(load_spec_file<CaptureSpec>(argv[1]), context);
    for (const std::string& line : result.warnings) std::printf("warning: %s\n", line.c_str());
    std::printf("kept %lld\n", static_cast<long long>(result.shards_kept));
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    code = error.exit_code();
  }
  std::fflush(nullptr);
  ::_exit(code);
}
