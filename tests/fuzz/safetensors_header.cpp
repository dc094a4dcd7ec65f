// A safetensors header: eight bytes that say how much data follows it, then its text.
#include <array>
#include <cstring>

#include "attnscope/checkpoint/safetensors.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

// A type that the sizes of a file cannot overflow.
__extension__ typedef unsigned __int128 Wide;

// Independent of the reader.
void check_tiling(const std::vector<StoredTensor>& tensors, std::uint64_t data_bytes) {
  Wide end = 0;
  for (const StoredTensor& tensor : tensors) {
    Wide bytes = static_cast<unsigned>(dtype_size(tensor.info.dtype));
    for (const std::int64_t n : tensor.info.shape) {
      check(n >= 0, "a negative dimension");
      bytes *= static_cast<std::uint64_t>(n);
      check(bytes >> 64 == 0, "a tensor above 2^64 bytes");
    }
    check(tensor.offset == end, "tensors that leave a hole or overlap");
    check(tensor.info.bytes == bytes, "bytes that do not fit dtype and shape");
    end += bytes;
  }
  check(end == data_bytes, "tensors that do not fill the file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t data_bytes = 0;
  if (size < sizeof data_bytes) return 0;
  std::memcpy(&data_bytes, data, sizeof data_bytes);
  const std::string_view header = as_text(data, size).substr(sizeof data_bytes);
  std::vector<StoredTensor> tensors;
  if (accepts([&] { tensors = parse_safetensors_header(header, data_bytes, "file"); })) {
    check_tiling(tensors, data_bytes);
  }
  return 0;
}
