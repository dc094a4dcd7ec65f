#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"

namespace attnscope {

void TensorSource::read(const TensorInfo& tensor, void* out, std::uint64_t bytes) const {
  if (bytes != tensor.bytes) {
    throw Error(
        ErrorKind::internal, "ST23",
        {.where = quote(tensor.name), .what = "asked for a size that the tensor does not have"});
  }
  read_part(tensor, 0, out, bytes);
}

}  // namespace attnscope
