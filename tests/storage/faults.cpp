#include "storage/faults.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <mutex>

namespace attnscope::testing {
namespace {

struct State {
  Fault fault = Fault::none;
  int at = 0;
  int calls = 0;
  bool armed = false;
  bool met = false;
  std::vector<std::string> log;
  std::recursive_mutex mutex;  // a capture writes on one thread and commits on another
};

State& state() {
  static State value;
  return value;
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string name_of(int fd) {
  std::array<char, 4096> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t n = ::readlink(link.c_str(), target.data(), target.size() - 1);
  return last_part(n > 0 ? std::string(target.data(), static_cast<std::size_t>(n)) : "?");
}

enum class Call { write, sync, other };

// Returns true if the call must fail with errno set.
bool meet(Call call) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.armed) return false;
  ++s.calls;
  const bool now = s.calls == s.at;
  const bool later = s.calls > s.at;
  if (now && s.fault != Fault::none) s.met = true;
  switch (s.fault) {
    case Fault::kill:
      if (now) ::kill(::getpid(), SIGKILL);
      return false;
    case Fault::no_space:
      errno = ENOSPC;
      return call == Call::write && (now || later);
    case Fault::io_error:
      errno = EIO;
      return now;
    case Fault::interrupted:
      errno = EINTR;
      return now && call != Call::other;
    case Fault::torn_kill:
    case Fault::short_write:
    case Fault::none:
      break;
  }
  return false;
}

ssize_t faulty_write(int fd, const void* data, size_t bytes, long offset) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const bool positioned = offset >= 0;
  const auto raw = [&](size_t n) {
    return positioned ? ::syscall(SYS_pwrite64, fd, data, n, offset)
                      : ::syscall(SYS_write, fd, data, n);
  };
  if (meet(Call::write)) return -1;
  if (s.armed && s.fault == Fault::torn_kill && s.calls == s.at) {
    raw(bytes / 2);
    ::kill(::getpid(), SIGKILL);
  }
  if (s.armed && s.fault == Fault::short_write && s.calls == s.at && bytes > 1) {
    return raw(bytes / 2);
  }
  return raw(bytes);
}

int fail_or(Call call, const std::string& log, long result_of_call(const void*), const void* args) {
  const std::lock_guard lock(state().mutex);
  if (state().armed) state().log.push_back(log);
  if (meet(call)) return -1;
  if (state().armed && state().fault == Fault::torn_kill && state().calls == state().at) {
    ::kill(::getpid(), SIGKILL);
  }
  return static_cast<int>(result_of_call(args));
}

}  // namespace

void arm(Fault fault, int at) {
  State& s = state();
  s.fault = fault;
  s.at = at;
  s.calls = 0;
  s.met = false;
  s.log.clear();
  s.armed = true;
}
void disarm() {
  state().armed = false;
}
int calls_made() {
  return state().calls;
}
bool fault_was_met() {
  return state().met;
}
std::vector<std::string> logged_calls() {
  return state().log;
}
const char* fault_name(Fault fault) {
  switch (fault) {
    case Fault::kill:
      return "Kill";
    case Fault::torn_kill:
      return "TornKill";
    case Fault::no_space:
      return "NoSpace";
    case Fault::io_error:
      return "IoError";
    case Fault::short_write:
      return "ShortWrite";
    case Fault::interrupted:
      return "Interrupted";
    case Fault::none:
      break;
  }
  return "None";
}

}  // namespace attnscope::testing

using attnscope::testing::Call;
using attnscope::testing::fail_or;
using attnscope::testing::faulty_write;
using attnscope::testing::last_part;
using attnscope::testing::name_of;

struct PathPair {
  const char* from;
  const char* to;
};

extern "C" {

__attribute__((visibility("default"))) ssize_t write(int fd, const void* data, size_t bytes) {
  return faulty_write(fd, data, bytes, -1);
}
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* data, size_t bytes,
                                                      off_t offset) {
  return faulty_write(fd, data, bytes, offset);
}
__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void* data, size_t bytes,
                                                        off64_t offset) {
  return faulty_write(fd, data, bytes, offset);
}
__attribute__((visibility("default"))) int fsync(int fd) {
  return fail_or(
      Call::sync, "fsync " + name_of(fd),
      [](const void* args) { return ::syscall(SYS_fsync, *static_cast<const int*>(args)); }, &fd);
}
__attribute__((visibility("default"))) int ftruncate64(int fd, off64_t length) noexcept {
  return static_cast<int>(::syscall(SYS_ftruncate, fd, length));
}
__attribute__((visibility("default"))) int link(const char* from, const char* to) noexcept {
  const PathPair paths{from, to};
  return fail_or(
      Call::other, "link " + last_part(to),
      [](const void* args) {
        const auto* p = static_cast<const PathPair*>(args);
        return ::syscall(SYS_link, p->from, p->to);
      },
      &paths);
}
__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  const PathPair paths{from, to};
  return fail_or(
      Call::other, "rename " + last_part(to),
      [](const void* args) {
        const auto* p = static_cast<const PathPair*>(args);
        return ::syscall(SYS_rename, p->from, p->to);
      },
      &paths);
}
}
