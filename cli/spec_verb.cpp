#include "spec_verb.h"

#include "attnscope/storage/output.h"
#include "attnscope/support/file.h"

namespace attnscope::cli {

void check_spec_file_is_kept(const SpecFile& file, const std::string& out) {
  if (out.empty() || file.path.empty()) return;
  for (const std::string& written : {out, sidecar_path(out)}) {
    check_output_is_no_input(written, {file.path});
  }
}

}  // namespace attnscope::cli
