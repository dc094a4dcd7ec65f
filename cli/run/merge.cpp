// The half of merge that needs LibTorch: parts of an experiment, estimated anew.
#include "attnscope/core/device.h"
#include "attnscope/probes/merge_parts.h"
#include "merged.h"
#include "run/verbs.h"

namespace attnscope::run {

int run_merge(const MergeSpec& spec, const std::vector<std::string>& command_line) {
  set_up_process({});
  cli::write_merged(spec, command_line, &merge_part_records);
  return 0;
}

}  // namespace attnscope::run
