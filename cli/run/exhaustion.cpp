#include "run/exhaustion.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace attnscope::run {
namespace {

constexpr int kExitCode = 4;
constexpr std::string_view kMessage =
    "attnscope: error [ME03] memory: a library ran out of it; use fewer or shorter prompts, or "
    "fewer hooks, or raise the limit\n";
// What glibc takes for a thread's heap.
constexpr std::size_t kHeapBytes = std::size_t{64} << 20U;

// Only calls that a signal handler may make.
[[noreturn]] void leave() {
  static_cast<void>(::write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0);
  ::_exit(kExitCode);
}

bool is_exhausted() {
  void* heap =
      ::mmap(nullptr, kHeapBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (heap == MAP_FAILED) return true;
  ::munmap(heap, kHeapBytes);
  return false;
}

void on_crash(int signal) {
  if (is_exhausted()) leave();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void report_exhaustion() {
  // The program itself always leaves by _exit.
  std::atexit([] { leave(); });
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) {
    struct sigaction action {};
    action.sa_handler = on_crash;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace attnscope::run
