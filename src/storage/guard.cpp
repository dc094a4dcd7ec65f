#include "guard.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"

namespace attnscope::storage_detail {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxObjects = 4'000'000;

struct Pipe {
  int read = -1;
  int write = -1;
};

void limit(int resource, std::uint64_t value) {
  const rlimit bound{.rlim_cur = value, .rlim_max = value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &bound);
}

void apply(const GuardLimits& limits) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.seconds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limit(RLIMIT_AS, limits.memory_bytes);  // sanitizers reserve terabytes
#endif
  ::alarm(limits.seconds * 6);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM, SIGXCPU}) {
    ::signal(number, SIG_DFL);
  }
}

// The library prints on some failures; whoever asked gets an Error instead.
void be_silent() {
  if (::freopen("/dev/null", "w", stderr) == nullptr) ::close(STDERR_FILENO);
}

std::string error_as_text(const Error& error) {
  const ErrorDetail& d = error.detail();
  return "E" + nlohmann::json{static_cast<int>(error.kind()),
                              error.code(),
                              d.where,
                              d.what,
                              d.expected,
                              d.got,
                              d.next}
                   .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string run_child(const std::function<std::string()>& work) {
  try {
    return "R" + work();
  } catch (const Error& error) {
    return error_as_text(error);
  } catch (const std::bad_alloc&) {
    return "M";
  }
}

void write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t n = ::read(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(n));
  }
}

[[noreturn]] void crashed(const std::string& path, const std::string& how) {
  throw Error(ErrorKind::input, "SR03",
              {.where = escape_untrusted(path, 4096),
               .what = "the file is damaged or hostile: reading it " + how,
               .next = "do not open it with other HDF5 programs either"});
}

[[noreturn]] void rethrow(const std::string& text) {
  const nlohmann::json fields = nlohmann::json::parse(text.begin() + 1, text.end());
  throw Error(static_cast<ErrorKind>(fields[0].get<int>()), fields[1].get<std::string>(),
              {.where = fields[2].get<std::string>(),
               .what = fields[3].get<std::string>(),
               .expected = fields[4].get<std::string>(),
               .got = fields[5].get<std::string>(),
               .next = fields[6].get<std::string>()});
}

class Walker {
 public:
  void visit(const h5::Group& group, int depth) {
    if (depth > kMaxDepth) refuse(group.path(), "groups nested too deeply", "at most 16 levels");
    for (const std::string& name : group.names()) {
      if (++objects_ > kMaxObjects) refuse(group.path(), "too many objects", "at most 4,000,000");
      if (group.is_group(name)) {
        visit(group.open_group(name), depth + 1);
        continue;
      }
      const h5::Dataset dataset = group.open_dataset(name);
      dataset.count();
      dataset.type();
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& where, const std::string& what,
                                  const std::string& expected) {
    throw Error(ErrorKind::input, "SR04",
                {.where = quote(where), .what = what, .expected = expected, .got = "more"});
  }
  std::size_t objects_ = 0;
};

}  // namespace

std::string run_guarded(const std::string& path, const GuardLimits& limits,
                        const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw Error(ErrorKind::output, "SR05",
                {.what = std::string("no pipe: ") + std::strerror(errno)});
  }
  const Pipe pipe{.read = ends[0], .write = ends[1]};
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(pipe.read);
    ::close(pipe.write);
    throw Error(ErrorKind::output, "SR05",
                {.what = std::string("no child process: ") + std::strerror(errno)});
  }
  if (child == 0) {
    ::close(pipe.read);
    apply(limits);
    be_silent();
    write_all(pipe.write, run_child(work));
    ::_exit(0);
  }
  ::close(pipe.write);
  const std::string answer = read_all(pipe.read);
  ::close(pipe.read);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const bool endless = number == SIGALRM || number == SIGXCPU || number == SIGKILL;
    crashed(path, endless ? "took more than " + std::to_string(limits.seconds) + " seconds"
                          : std::string("crashed the HDF5 library (") + ::strsignal(number) + ")");
  }
  if (answer.empty()) crashed(path, "ended the process");
  if (answer[0] == 'M') crashed(path, "needs more memory than a file of this kind should");
  if (answer[0] == 'E') rethrow(answer);
  return answer.substr(1);
}

void walk_file(const h5::File& file) {
  Walker().visit(file.root(), 0);
}

}  // namespace attnscope::storage_detail
