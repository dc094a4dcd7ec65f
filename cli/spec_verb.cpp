#include "spec_verb.h"

#include "attnscope/storage/output.h"
#include "attnscope/support/file.h"

namespace attnscope::cli {

void check_per_prompt_is_seen(const SweepOptions& sweep, const DeliveryOptions& output) {
  if (!sweep.per_prompt || output.json || !output.out.empty()) return;
  fail_argument("CL11", {.where = "--per-prompt",
                         .what = "the effect on each prompt would be seen nowhere",
                         .expected = "-o FILE or --json beside it"});
}

void check_spec_file_is_kept(const SpecFile& file, const std::string& out) {
  if (out.empty() || file.path.empty()) return;
  for (const std::string& written : {out, sidecar_path(out)}) {
    check_output_is_no_input(written, {file.path});
  }
}

}  // namespace attnscope::cli
