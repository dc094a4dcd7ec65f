// attnscope merge: options → MergeSpec → merge_files, or attnscope-run for parts of an experiment.
#include "attnscope/spec/file_specs.h"
#include "attnscope/storage/reader.h"
#include "command.h"
#include "launch.h"
#include "merged.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

bool is_part_of_experiment(const std::string& path) {
  const FileInfo file = CaptureReader(path).file();
  return file.shard && file.kind != FileKind::capture;
}

}  // namespace

int run_merge(const Command& command, const CommandLine& line) {
  MergeSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.arguments(
      {"FILE", "",
       "captures, two or more, in the order their prompts will have; or all parts of a "
       "run (--shard), in any order"},
      spec.files);
  options.group("Output");
  add_result_option(options, "file to write (required)", spec.out);
  add_force_option(options, spec.force);
  add_json_option(options, spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);
  if (is_part_of_experiment(spec.files.front())) {
    exec_runner({.spec = spec, .command_line = line.all});
  }
  write_merged(spec, line.all, nullptr);
  return 0;
}

}  // namespace attnscope::cli
