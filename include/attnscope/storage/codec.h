// File: codec.h
// How values become stored chunks: rounding, byte shuffle, deflate. Every chunk decodes with the
// stock HDF5 filters shuffle and deflate.
//
// Shuffled chunks go through our own deflater (src/storage/plane_deflate.h): nine times the speed
// of zlib at level 1, smaller, and the same bytes on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attnscope/sites/tensor_view.h"

namespace attnscope {

// How the values of a map are stored.
enum class MapDType : std::uint8_t {
  r10,  // float32 with the mantissa rounded to 10 bits, to nearest even
  r7,   // the same with 7 bits: levels of pyramids
  f32,
  f16,  // IEEE binary16, to nearest even
};
const char* map_dtype_name(MapDType dtype);  // "r10", "r7" …: the attribute map_dtype

// Values below this become 0 where a floor is asked for.
inline constexpr float kMapFloor = 0x1p-24F;
enum class Floor : std::uint8_t { off, on };

// `value` with its mantissa rounded to `bits` bits, to nearest even; NaN stays NaN.
float round_mantissa(float value, int bits);
std::uint16_t to_half(float value);  // IEEE binary16 bits, to nearest even
float from_half(std::uint16_t bits);

// One chunk as it goes to disk.
struct StoredChunk {
  std::vector<std::byte> bytes;
  std::uint32_t filter_mask = 0;  // bit i set: filter i of the pipeline was not applied
};

// Where a tile's values lie in memory: [h q k] with strides in values; the last axis is dense.
struct TileSource {
  const void* data = nullptr;                     // first value of the tile
  DType dtype = DType::f32;                       // f32 or f64
  std::int64_t heads = 1, queries = 0, keys = 0;  // valid values
  std::int64_t head_stride = 0, query_stride = 0;
};

// The chunk that a tile fills; what the source does not cover is `padding`.
struct TileTarget {
  MapDType dtype = MapDType::r10;
  Floor floor = Floor::off;
  std::int64_t heads = 1, queries = 0, keys = 0;  // extent of the chunk
  float padding = 0;                              // the dataset's fill value
};

// Makes stored chunks. Holds scratch memory only: equal input gives equal bytes, whatever was
// compressed before. One object a thread; different objects may work at the same time.
class ChunkCompressor {
 public:
  ChunkCompressor();
  ~ChunkCompressor();
  ChunkCompressor(ChunkCompressor&&) noexcept;
  ChunkCompressor& operator=(ChunkCompressor&&) noexcept;

  // A tile of an attention map: rounds, shuffles, deflates.
  StoredChunk compress_tile(const TileSource& source, const TileTarget& target);
  // Any chunk: `raw` holds values of `value_bytes` bytes (1, 2, 4 or 8), exactly as a reader is
  // to see them.
  StoredChunk compress(std::span<const std::byte> raw, std::size_t value_bytes);
  // Text: deflate only.
  StoredChunk compress_text(std::span<const std::byte> raw);

 private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace attnscope
