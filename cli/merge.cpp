// attnscope merge: options → MergeSpec → merge_files.
#include "attnscope/storage/merge.h"

#include "attnscope/spec/file_specs.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "command.h"
#include "console/output.h"
#include "shared_options.h"
#include "sidecar.h"

namespace attnscope::cli {

int run_merge(const Command& command, const CommandLine& line) {
  MergeSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.arguments({"FILE", "", "captures, two or more, in the order their prompts will have"},
                    spec.files);
  options.group("Output");
  add_result_option(options, "file to write (required)", spec.out);
  add_force_option(options, spec.force);
  if (!verb.parse(line)) return 0;
  validate(spec);
  const std::string sha256 =
      merge_files({.inputs = spec.files, .path = spec.out, .if_exists = if_exists(spec.force)});
  write_sidecar(spec.out, sha256, line.all);
  console::print("Wrote " + escape_untrusted(spec.out, 4096) + " from " +
                 count_of(spec.files.size(), "file") + ".\n");
  return 0;
}

}  // namespace attnscope::cli
