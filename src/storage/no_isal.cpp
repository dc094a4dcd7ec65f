// ISA-L was not found when attnscope was built (pkg-config libisal).
#include "deflate.h"

namespace attnscope::storage_detail {

std::unique_ptr<DeflateEngine> make_isal_engine() {
  return nullptr;
}

}  // namespace attnscope::storage_detail
