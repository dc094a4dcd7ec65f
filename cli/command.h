// File: command.h
// A verb of the command line: its name, its help and the function that runs it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "options.h"

namespace attnscope::cli {

// What was typed: `arguments` without program name and verb, `all` with both.
struct CommandLine {
  std::vector<std::string> arguments;
  std::vector<std::string> all;
};

struct Command {
  const char* name;
  const char* summary;   // one plain sentence
  const char* examples;  // one command a line; each runs
  int (*run)(const Command& command, const CommandLine& line);
};

// Every verb, in the order of the help.
std::span<const Command> commands();

// A verb's options and its --help text, made of its summary, its options by group, its notes, its
// examples.
class Verb {
 public:
  explicit Verb(const Command& command);
  ~Verb();
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  Options& options() { return options_; }
  // A paragraph of the help under a heading; `text` has a line break where the help has one.
  void note(const std::string& heading, const std::string& text);
  // False when help was asked for and printed.
  bool parse(const CommandLine& line);

 private:
  std::unique_ptr<CLI::App> app_;
  Options options_;
  std::string examples_;
  std::string notes_;
};

// Runs the command line and returns the exit code; throws Error.
int run_command_line(const std::vector<std::string>& arguments);

int run_ablate(const Command& command, const CommandLine& line);
int run_capture(const Command& command, const CommandLine& line);
int run_demo(const Command& command, const CommandLine& line);
int run_diff(const Command& command, const CommandLine& line);
int run_doctor(const Command& command, const CommandLine& line);
int run_export(const Command& command, const CommandLine& line);
int run_inspect(const Command& command, const CommandLine& line);
int run_lens(const Command& command, const CommandLine& line);
int run_merge(const Command& command, const CommandLine& line);
int run_patch(const Command& command, const CommandLine& line);
int run_show(const Command& command, const CommandLine& line);
int run_stats(const Command& command, const CommandLine& line);
int run_tokenize(const Command& command, const CommandLine& line);
int run_verdict(const Command& command, const CommandLine& line);
int run_verify(const Command& command, const CommandLine& line);
int run_view(const Command& command, const CommandLine& line);

}  // namespace attnscope::cli
