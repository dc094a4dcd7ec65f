#include "console/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"

namespace attnscope::console {
namespace {

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

void print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == EPIPE) throw OutputClosed();
  if (error != 0) {
    throw Error(ErrorKind::output, "OU01",
                {.where = "standard output",
                 .what = std::string("cannot write: ") + std::strerror(error),
                 .next = "free some space or send the output elsewhere"});
  }
}

void note(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

void print_warnings(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) note("attnscope: warning: " + line + "\n");
}

std::string shell_path(const std::string& path) {
  const std::string shown = escape_untrusted(path, 4096);
  const bool plain = shown == path && path.find_first_of(" '\"$&;()<>|*?[]#~`") == path.npos;
  return plain ? path : "'" + shown + "'";
}

bool progress_visible() {
  return ::isatty(STDERR_FILENO) == 1;
}

void prepare_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free descriptor is taken, which is `fd` itself here.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0) std::_Exit(3);
  }
  std::signal(SIGPIPE, SIG_IGN);
  // A file-size limit is then a failed write, with its message, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
}

namespace {

constexpr int kNoMemoryCode = 4;

void note_no_memory() {
  note(
      "attnscope: error [ME01] memory: not enough memory for this request; use fewer or shorter "
      "prompts, or fewer hooks\n");
}

// Memory can also run out in a destructor, since some take memory to free a tree (nlohmann's): the
// process then ends where it stands, with the message and exit code of every other place.
[[noreturn]] void at_terminate() {
  try {
    if (const std::exception_ptr current = std::current_exception()) {
      std::rethrow_exception(current);
    }
  } catch (const std::bad_alloc&) {
    note_no_memory();
    std::_Exit(kNoMemoryCode);
  } catch (...) {
    // A bug: the core file shows where.
  }
  std::abort();
}

int report_bug(const std::exception& error) {
  note("attnscope: error [IN01] internal: " + escape_untrusted(error.what(), 300) +
       "; this is a bug of attnscope, please report it with the command line\n");
  return 1;
}

// Says what went wrong and returns the exit code; lets std::bad_alloc pass.
int run_and_report(const std::function<int()>& body) {
  try {
    return body();
  } catch (const OutputClosed&) {
    return 0;
  } catch (const Error& error) {
    note(std::string("attnscope: ") + error.what() + "\n");
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) return report_bug(error);
    note("attnscope: error [ME02] threads: cannot be started: " + error.code().message() +
         "; allow more memory or processes (ulimit -a)\n");
    return kNoMemoryCode;
  } catch (const std::exception& error) {
    return report_bug(error);
  } catch (...) {
    note(
        "attnscope: error [IN01] internal: unknown exception; this is a bug of attnscope, please "
        "report it with the command line\n");
    return 1;
  }
}

}  // namespace

int guarded(const std::function<int()>& body) {
  std::set_terminate(at_terminate);
  // Around the messages too: they take memory themselves.
  try {
    return run_and_report(body);
  } catch (const std::bad_alloc&) {
    note_no_memory();
    return kNoMemoryCode;
  }
}

}  // namespace attnscope::console
