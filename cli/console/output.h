// File: output.h
// The edge of both executables: standard output and error, exit codes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::console {

// Whoever read our standard output went away. Not an error: the process ends quietly.
struct OutputClosed {};

// Results. Throws OutputClosed on a closed pipe and Error OU01 (exit 3) when the device is full.
void print(std::string_view text);
// Progress and warnings, to standard error; failures are ignored.
void note(std::string_view text);
// One line "attnscope: warning: …" each, on standard error.
void print_warnings(const std::vector<std::string>& lines);

// A path as an argument of a command that the user may type next.
std::string shell_path(const std::string& path);

// Whether standard error is a terminal, so that progress may be drawn there.
bool progress_visible();

// Opens /dev/null for each of the three standard descriptors that the caller closed, so that no
// file opened later takes their number, and ignores SIGPIPE and SIGXFSZ.
void prepare_streams();

// Runs `body` and turns what it throws into one line on standard error and the exit code. Nothing
// escapes, no backtrace is shown.
int guarded(const std::function<int()>& body);

}  // namespace attnscope::console
