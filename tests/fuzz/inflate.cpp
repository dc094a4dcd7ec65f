// A deflated chunk of a result file, as verify decodes it; zlib is the judge.
#include "inflate.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t values = data[0] + 256U * data[1];
  // A copy, so that the sanitizer sees a step over its end.
  const std::vector<std::uint8_t> stream(data + 2, data + size);
  std::vector<std::byte> ours(values);
  storage_detail::Inflater inflater;
  const bool accepted = inflater.inflate(std::as_bytes(std::span(stream)), ours);

  std::vector<std::uint8_t> theirs(values + 1);
  z_stream state{};
  check(inflateInit(&state) == Z_OK, "zlib");
  state.next_in = const_cast<Bytef*>(stream.data());
  state.avail_in = static_cast<uInt>(stream.size());
  state.next_out = theirs.data();
  state.avail_out = static_cast<uInt>(theirs.size());
  const bool whole = ::inflate(&state, Z_FINISH) == Z_STREAM_END && state.avail_in == 0 &&
                     state.total_out == values;
  inflateEnd(&state);
  check(accepted == whole, "another verdict than zlib's");
  const auto same = [](std::byte a, std::uint8_t b) {
    return std::to_integer<std::uint8_t>(a) == b;
  };
  check(!accepted || std::equal(ours.begin(), ours.end(), theirs.begin(), same), "other values");
  return 0;
}
