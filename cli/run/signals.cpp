#include "run/signals.h"

#include <unistd.h>

#include <csignal>
#include <string>

#include "attnscope/support/error.h"
#include "console/output.h"

namespace attnscope::run {
namespace {

// A signal handler has no other way to reach the program.
std::atomic<bool> stop_requested{false};
std::atomic<int> first_signal{0};

void on_signal(int signal) {
  if (stop_requested.exchange(true)) ::_exit(128 + signal);
  first_signal = signal;
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return stop_requested;
}

int until_stopped(const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    console::note(std::string("attnscope: ") + error.what() + "\n");
    return 128 + first_signal;
  }
}

}  // namespace attnscope::run
