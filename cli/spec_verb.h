// File: spec_verb.h
// Verbs that fill a spec from options and --spec FILE and hand it to attnscope-run.
#pragma once

#include <string>

#include "attnscope/spec/spec_json.h"
#include "command.h"
#include "console/output.h"
#include "launch.h"

namespace attnscope::cli {

struct SpecFile {
  std::string path;     // --spec
  bool schema = false;  // --spec-schema
};

// Effects on each prompt go to -o or --json; without either they would be computed in vain.
void check_per_prompt_is_seen(const SweepOptions& sweep, const DeliveryOptions& output);

// What --spec reads must not be lost to what the verb writes.
void check_spec_file_is_kept(const SpecFile& file, const std::string& out);

// `add_options` registers the options of the verb, which take effect after those of the file.
template <typename Spec>
int run_spec_verb(const Command& command, const CommandLine& line,
                  void (*add_options)(Verb& verb, Spec& spec)) {
  Spec spec;
  SpecFile file;
  Verb verb(command);
  Options& options = verb.options();
  options.group("Model");
  options.value({"--spec", "FILE",
                 "options from a JSON file, by their long names with _ for -; options given here "
                 "come after it"},
                [&](const std::string& text, const std::string&) {
                  spec = load_spec_file<Spec>(text);
                  file.path = text;
                });
  options.flag({"--spec-schema", "", "print the JSON Schema of such a file and stop"}, file.schema);
  add_options(verb, spec);
  if (!verb.parse(line)) return 0;
  if (file.schema) {
    console::print(spec_schema<Spec>() + "\n");
    return 0;
  }
  options.exclusive("--force", "--resume");
  validate(spec);
  if constexpr (requires { spec.sweep.per_prompt; }) {
    check_per_prompt_is_seen(spec.sweep, spec.output);
  }
  check_spec_file_is_kept(file, spec.output.out);
  exec_runner({.spec = spec, .command_line = line.all});
}

}  // namespace attnscope::cli
