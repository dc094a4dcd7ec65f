#include "attnscope/storage/codec.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "attnscope/support/error.h"
#include "plane_deflate.h"
#include "planes.h"

namespace attnscope {

namespace {

// Bits of the filter mask: the filters' places in the pipelines shuffle, deflate and deflate.
constexpr std::uint32_t kSkipDeflateAfterShuffle = 1U << 1U;
constexpr std::uint32_t kSkipDeflate = 1U << 0U;

[[noreturn]] void misuse(const std::string& what, const std::string& expected,
                         const std::string& got) {
  throw Error(ErrorKind::internal, "SC01", {.what = what, .expected = expected, .got = got});
}

}  // namespace

const char* map_dtype_name(MapDType dtype) {
  switch (dtype) {
    case MapDType::r10:
      return "r10";
    case MapDType::r7:
      return "r7";
    case MapDType::f32:
      return "f32";
    case MapDType::f16:
      break;
  }
  return "f16";
}

struct ChunkCompressor::Scratch {
  storage_detail::PlaneDeflater deflater;
  std::vector<std::byte> planes;
  std::vector<float> row;

  // The planes deflated if that is smaller, else as they are.
  StoredChunk finish(std::size_t plane_bytes) {
    const std::span<const std::byte> deflated = deflater.deflate(planes, plane_bytes);
    if (deflated.size() >= planes.size()) return {planes, kSkipDeflateAfterShuffle};
    return {{deflated.begin(), deflated.end()}, 0};
  }
};

ChunkCompressor::ChunkCompressor() : scratch_(std::make_unique<Scratch>()) {}
ChunkCompressor::~ChunkCompressor() = default;
ChunkCompressor::ChunkCompressor(ChunkCompressor&&) noexcept = default;
ChunkCompressor& ChunkCompressor::operator=(ChunkCompressor&&) noexcept = default;

StoredChunk ChunkCompressor::compress_tile(const TileSource& source, const TileTarget& target) {
  if (source.heads > target.heads || source.queries > target.queries || source.keys > target.keys ||
      (source.dtype != DType::f32 && source.dtype != DType::f64)) {
    misuse("the tile does not fit its chunk", "float32 or float64 values within the chunk",
           dtype_name(source.dtype));
  }
  const auto keys = static_cast<std::size_t>(target.keys);
  const auto valid = static_cast<std::size_t>(source.keys);
  const std::size_t values = static_cast<std::size_t>(target.heads * target.queries) * keys;
  const std::size_t value_bytes = target.dtype == MapDType::f16 ? 2 : 4;
  const float floor = target.floor == Floor::on ? kMapFloor : 0.0F;
  Scratch& s = *scratch_;
  s.planes.resize(values * value_bytes);
  s.row.resize(keys);

  std::size_t at = 0;
  for (std::int64_t h = 0; h < target.heads; ++h) {
    for (std::int64_t q = 0; q < target.queries; ++q, at += keys) {
      const std::int64_t offset = h * source.head_stride + q * source.query_stride;
      const float* row = s.row.data();
      if (h >= source.heads || q >= source.queries) {
        std::fill(s.row.begin(), s.row.end(), target.padding);
      } else if (source.dtype == DType::f64) {
        const auto* from = static_cast<const double*>(source.data) + offset;
        std::transform(from, from + valid, s.row.begin(),
                       [](double v) { return static_cast<float>(v); });
        std::fill(s.row.begin() + source.keys, s.row.end(), target.padding);
      } else if (valid < keys) {
        std::memcpy(s.row.data(), static_cast<const float*>(source.data) + offset, valid * 4);
        std::fill(s.row.begin() + source.keys, s.row.end(), target.padding);
      } else {
        row = static_cast<const float*>(source.data) + offset;
      }
      storage_detail::store_row({row, keys, target.dtype, floor}, s.planes.data() + at, values);
    }
  }
  return s.finish(values);
}

StoredChunk ChunkCompressor::compress(std::span<const std::byte> raw, std::size_t value_bytes) {
  if ((value_bytes != 1 && value_bytes != 2 && value_bytes != 4 && value_bytes != 8) ||
      raw.size() % value_bytes != 0) {
    misuse("the chunk holds no whole values", "values of 1, 2, 4 or 8 bytes",
           std::to_string(raw.size()) + " bytes of " + std::to_string(value_bytes));
  }
  Scratch& s = *scratch_;
  const std::size_t values = raw.size() / value_bytes;
  s.planes.resize(raw.size());
  storage_detail::shuffle(raw.data(), values, value_bytes, s.planes.data());
  return s.finish(values);
}

// Text repeats itself at a distance, which is the library's business.
StoredChunk ChunkCompressor::compress_text(std::span<const std::byte> raw) {
  uLongf bytes = compressBound(raw.size());
  std::vector<std::byte> out(bytes);
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &bytes,
                               reinterpret_cast<const Bytef*>(raw.data()), raw.size(), 6);
  if (status != Z_OK) throw std::bad_alloc();
  if (bytes >= raw.size()) return {{raw.begin(), raw.end()}, kSkipDeflate};
  out.resize(bytes);
  return {std::move(out), 0};
}

}  // namespace attnscope
