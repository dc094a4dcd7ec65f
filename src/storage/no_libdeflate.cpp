// libdeflate was not found when attnscope was built (pkg-config libdeflate).
#include "deflate.h"

namespace attnscope::storage_detail {

std::unique_ptr<DeflateEngine> make_libdeflate_engine() {
  return nullptr;
}

}  // namespace attnscope::storage_detail
