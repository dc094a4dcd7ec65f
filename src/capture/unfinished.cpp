#include "attnscope/capture/unfinished.h"

#include "attnscope/storage/output.h"
#include "attnscope/support/commit.h"
#include "attnscope/support/text.h"

namespace attnscope {

void rethrow_with_what_is_kept(const Error& error, const DeliveryOptions& output) {
  const int kept = output.out.empty() ? 0 : kept_shards(output.out);
  const std::string resume =
      std::string("go on with --resume") + (output.force ? " in place of --force" : "");
  ErrorDetail detail = error.detail();
  if (error.kind() == ErrorKind::interrupted) {
    if (kept > 0) {
      detail.what +=
          "; finished so far and kept: " + count_of(static_cast<std::uint64_t>(kept), "shard");
      detail.next = resume;
    } else if (!output.out.empty()) {
      detail.what += "; nothing was committed yet";
      detail.next = kRunItAgain;
    } else if (detail.next.empty()) {
      detail.next = "run it again with -o FILE, so that --resume can go on next time";
    }
  } else if (kept > 0 && detail.next.ends_with(kRunItAgain)) {
    detail.next.resize(detail.next.size() - kRunItAgain.size());
    detail.next += resume;
  } else {
    throw error;
  }
  throw Error(error.kind(), error.code(), std::move(detail));
}

}  // namespace attnscope
