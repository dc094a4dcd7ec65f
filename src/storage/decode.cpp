#include "decode.h"

#include <algorithm>

namespace attnscope::storage_detail {
namespace {

constexpr std::uint32_t kNotShuffled = 1U << 0U;
constexpr std::uint32_t kNotDeflated = 1U << 1U;

template <std::size_t kBytes>
void unshuffle_fixed(const unsigned char* planes, std::size_t count, unsigned char* out) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t p = 0; p < kBytes; ++p) out[i * kBytes + p] = planes[p * count + i];
  }
}

void unshuffle(const std::byte* planes, std::size_t count, std::size_t value_bytes,
               std::byte* out) {
  const auto* from = reinterpret_cast<const unsigned char*>(planes);
  auto* to = reinterpret_cast<unsigned char*>(out);
  if (value_bytes == 2) return unshuffle_fixed<2>(from, count, to);
  if (value_bytes == 4) return unshuffle_fixed<4>(from, count, to);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t p = 0; p < value_bytes; ++p) to[i * value_bytes + p] = from[p * count + i];
  }
}

}  // namespace

bool ChunkDecoder::decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                          std::size_t value_bytes, std::span<std::byte> out) {
  const bool shuffled = (filter_mask & kNotShuffled) == 0 && value_bytes > 1;
  const bool deflated = (filter_mask & kNotDeflated) == 0;
  if (!deflated && stored.size() != out.size()) return false;
  std::span<const std::byte> planes = stored;
  if (deflated) {
    planes_.resize(shuffled ? out.size() : 0);
    const std::span<std::byte> target = shuffled ? std::span(planes_) : out;
    if (!inflater_.inflate(stored, target)) return false;
    planes = target;
  }
  if (shuffled) {
    unshuffle(planes.data(), out.size() / value_bytes, value_bytes, out.data());
  } else if (!deflated) {
    std::copy(planes.begin(), planes.end(), out.begin());
  }
  return true;
}

}  // namespace attnscope::storage_detail
