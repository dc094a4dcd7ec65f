// File: signals.h
// SIGINT and SIGTERM as a request to stop.
#pragma once

#include <atomic>
#include <functional>

namespace attnscope::run {

// Installs the handlers: the first signal sets the flag, a second one ends the process at once.
const std::atomic<bool>& stop_on_signals();

// Runs `body`. The error of work that a signal stopped is shown, and the exit code is 130 after
// SIGINT, 143 after SIGTERM; other errors pass. 0 when `body` ended by itself.
int until_stopped(const std::function<void()>& body);

}  // namespace attnscope::run
