#include "decode.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <vector>

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

struct ChunkDecoder::State {
  State() {
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  }
  ~State() { inflateEnd(&stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool inflate_all(std::span<const std::byte> stored, std::span<std::byte> out) {
    if (inflateReset(&stream) != Z_OK) return false;
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored.data()));
    stream.avail_in = static_cast<uInt>(stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    return ::inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0 &&
           stream.avail_in == 0;
  }

  z_stream stream{};
  std::vector<std::byte> planes;
};

ChunkDecoder::ChunkDecoder() : state_(std::make_unique<State>()) {}
ChunkDecoder::~ChunkDecoder() = default;

bool ChunkDecoder::decode(std::span<const std::byte> stored, std::uint32_t filter_mask,
                          std::size_t value_bytes, std::span<std::byte> out) {
  const bool shuffled = (filter_mask & kNotShuffled) == 0 && value_bytes > 1;
  const bool deflated = (filter_mask & kNotDeflated) == 0;
  if (!deflated && stored.size() != out.size()) return false;
  std::span<const std::byte> planes = stored;
  if (deflated) {
    state_->planes.resize(shuffled ? out.size() : 0);
    const std::span<std::byte> target = shuffled ? std::span(state_->planes) : out;
    if (!state_->inflate_all(stored, target)) return false;
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
