#include "merged.h"

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "console/output.h"
#include "sidecar.h"

namespace attnscope::cli {

void write_merged(const MergeSpec& spec, const std::vector<std::string>& command_line,
                  JoinRecords join) {
  const std::string sha256 = merge_files({.inputs = spec.files,
                                          .path = spec.out,
                                          .if_exists = if_exists(spec.force),
                                          .join_records = join});
  write_sidecar(spec.out, sha256, command_line);
  console::print("Wrote " + escape_untrusted(spec.out, 4096) + " from " +
                 count_of(spec.files.size(), "file") + ".\n");
}

}  // namespace attnscope::cli
