#include "launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::cli {
namespace {

[[noreturn]] void fail_system(const std::string& where, const std::string& doing) {
  throw Error(ErrorKind::output, "LA02",
              {.where = where, .what = "cannot " + doing + ": " + std::strerror(errno)});
}

// Beside this executable, wherever links to it lie.
std::string runner_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = self.parent_path() / "attnscope-run";
  if (error || ::access(path.c_str(), X_OK) != 0) {
    throw Error(ErrorKind::output, "LA01",
                {.where = escape_untrusted(path.string()),
                 .what = "the executable that runs models is missing",
                 .expected = "it beside attnscope",
                 .next = "build or install attnscope again"});
  }
  return path.string();
}

// An unnamed file in memory that holds `json`, at kEnvelopeDescriptor.
void place_envelope(const std::string& json) {
  const int fd = ::memfd_create("attnscope-spec", MFD_CLOEXEC);
  if (fd < 0) fail_system("attnscope-run", "make a memory file");
  for (std::size_t done = 0; done < json.size();) {
    const ssize_t n = ::write(fd, json.data() + done, json.size() - done);
    if (n < 0 && errno != EINTR) fail_system("attnscope-run", "pass the spec");
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  ::lseek(fd, 0, SEEK_SET);
  // dup2 drops the close-on-exec mark; on the same descriptor it would keep it.
  if (fd == kEnvelopeDescriptor) {
    ::fcntl(fd, F_SETFD, 0);
  } else if (::dup2(fd, kEnvelopeDescriptor) < 0) {
    fail_system("attnscope-run", "pass the spec");
  }
}

// libgomp reads this once, at load. Spinning threads would fight with the compressors of a capture.
void set_runner_environment() {
  ::setenv("GOMP_SPINCOUNT", "1000", 0);
}

void exec_program(const std::string& path, const std::vector<std::string>& arguments) {
  std::vector<char*> argv = {const_cast<char*>("attnscope-run")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
}

// LibTorch ends a process that has too little memory for loading it, before any code of ours runs.
// Where memory is limited, starting is therefore tried first in another process.
void require_start(const std::string& path) {
  rlimit space{};
  rlimit data{};
  ::getrlimit(RLIMIT_AS, &space);
  ::getrlimit(RLIMIT_DATA, &data);
  if (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY) return;
  const pid_t child = ::fork();
  if (child < 0) fail_system("attnscope-run", "start");
  if (child == 0) {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    exec_program(path, {"--start-check"});
    ::_exit(3);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw Error(ErrorKind::limit, "LA03",
              {.where = "memory limit of this process (ulimit -v, -d)",
               .what = "LibTorch cannot be loaded within it",
               .got = format_bytes(std::min(space.rlim_cur, data.rlim_cur)),
               .next = "raise the limit"});
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

void exec_runner(const Envelope& envelope) {
  const std::string path = runner_path();
  require_start(path);
  place_envelope(envelope_to_json(envelope));
  set_runner_environment();
  exec_program(path, {});
  fail_system(escape_untrusted(path), "start");
}

ChildResult run_child(const std::vector<std::string>& arguments, const Envelope* envelope) {
  const std::string path = runner_path();
  require_start(path);
  const std::string json = envelope == nullptr ? "" : envelope_to_json(*envelope);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_system("attnscope-run", "make a pipe");
  const pid_t child = ::fork();
  if (child < 0) fail_system("attnscope-run", "start");
  if (child == 0) {
    // The write end may sit on the envelope's descriptor, so it moves first.
    ::dup2(ends[1], STDOUT_FILENO);
    if (envelope != nullptr) place_envelope(json);
    set_runner_environment();
    exec_program(path, arguments);
    ::_exit(3);
  }
  ::close(ends[1]);
  ChildResult result;
  result.output = read_to_end(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace attnscope::cli
