#include "browser.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::cli {
namespace {

#ifdef __APPLE__
constexpr const char* kDesktopOpener = "open";
#else
constexpr const char* kDesktopOpener = "xdg-open";
#endif

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool has_desktop() {
#ifdef __APPLE__
  return true;
#else
  return !variable("DISPLAY").empty() || !variable("WAYLAND_DISPLAY").empty();
#endif
}

bool is_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0;
  for (const std::string& folder : split(variable("PATH"), ':')) {
    if (!folder.empty() && ::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// $BROWSER is a list with colons of commands in which %s stands for the address; the first counts.
std::vector<std::string> opener() {
  const std::string first = split(variable("BROWSER"), ':').front();
  std::vector<std::string> words;
  for (const std::string& word : split(first, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.empty()) words.emplace_back(kDesktopOpener);
  return words;
}

std::vector<std::string> with_address(std::vector<std::string> words, const std::string& address) {
  bool placed = false;
  for (std::string& word : words) {
    if (word != "%s") continue;
    word = address;
    placed = true;
  }
  if (!placed) words.push_back(address);
  return words;
}

// Only what may be called between fork and exec.
[[noreturn]] void become(const std::vector<char*>& argv) {
  ::setsid();  // Ctrl-C in the terminal is for attnscope
  if (::fork() != 0) ::_exit(0);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) ::dup2(null, fd);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  ::execvp(argv.front(), argv.data());
  ::_exit(1);
}

}  // namespace

std::string why_no_browser() {
  if (::isatty(STDOUT_FILENO) != 1) return "the output is no terminal";
  if (variable("BROWSER").empty() && !has_desktop()) return "there is no display";
  const std::string program = opener().front();
  return is_program(program) ? "" : "there is no " + escape_untrusted(program);
}

void open_browser(const std::string& address) {
  std::vector<std::string> words = with_address(opener(), address);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) become(argv);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace attnscope::cli
