#include "attnscope/storage/merge.h"

#include "attnscope/storage/reader.h"
#include "attnscope/support/error.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/warnings.h"
#include "join.h"

namespace attnscope {

std::string merge_files(const MergeOptions& options) {
  if (options.inputs.size() < 2) {
    throw Error(ErrorKind::input, "SM02",
                {.what = "nothing to merge",
                 .expected = "two or more files",
                 .got = std::to_string(options.inputs.size())});
  }
  // The identity of the result follows from what it is made of.
  std::string run_ids;
  for (const std::string& path : options.inputs) {
    run_ids += CaptureReader(path).file().run_id + "\n";
  }
  const std::string run_id = sha256_of(run_ids);
  Warnings warnings;
  Output output({.path = options.path, .if_exists = options.if_exists, .run_id = run_id}, warnings);
  if (!output.complete()) {
    storage_detail::join_files(
        options.inputs,
        {.kind = storage_detail::JoinKind::merge, .run_id = run_id, .path = output.begin(0)});
    output.commit(0);
  }
  return output.finish();
}

}  // namespace attnscope
