// File: signals.h
// SIGINT and SIGTERM as a request to stop.
#pragma once

#include <atomic>

namespace attnscope::run {

// Installs the handlers: the first signal sets the flag, a second one ends the process at once.
const std::atomic<bool>& stop_on_signals();

// 130 after SIGINT, 143 after SIGTERM, 0 when there was no signal.
int signal_exit_code();

}  // namespace attnscope::run
