#include "map_assembler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "attnscope/core/tensor_convert.h"

namespace attnscope {
namespace {

template <typename T>
std::int64_t count_nan(const TileSource& tile) {
  std::int64_t count = 0;
  const T* data = static_cast<const T*>(tile.data);
  for (std::int64_t h = 0; h < tile.heads; ++h) {
    for (std::int64_t q = 0; q < tile.queries; ++q) {
      const T* row = data + h * tile.head_stride + q * tile.query_stride;
      std::int64_t in_row = 0;
      for (std::int64_t k = 0; k < tile.keys; ++k) in_row += row[k] != row[k] ? 1 : 0;
      count += in_row;
    }
  }
  return count;
}

// Positions of `list` that lie in [begin, end), as indices relative to `begin`.
at::Tensor selected_rows(const std::vector<std::int64_t>& list, std::int64_t begin,
                         std::int64_t end) {
  const auto first = std::lower_bound(list.begin(), list.end(), begin);
  const auto last = std::lower_bound(first, list.end(), end);
  std::vector<std::int64_t> rows;
  for (auto it = first; it != last; ++it) rows.push_back(*it - begin);
  return at::tensor(rows, at::kLong);
}

}  // namespace

MapAssembler::MapAssembler(const ResultPath& path, int prompt, HookId hook, MapSpec spec)
    : path_(path), spec_(std::move(spec)), map_{TileGrid(spec_), std::make_shared<int>(-1)} {
  CaptureWriter& writer = path_.writer;
  path_.pipeline.push(0, [&writer, prompt, hook, spec = spec_, map = map_.handle] {
    *map = writer.open_map(prompt, hook, spec);
  });
  if (!pyramid_factors(spec_).empty()) open_pyramid(prompt, hook);
}

void MapAssembler::open_pyramid(int prompt, HookId hook) {
  pyramid_.emplace(spec_);
  CaptureWriter& writer = path_.writer;
  for (const std::int64_t factor : pyramid_factors(spec_)) {
    for (const Pooling pooling : {Pooling::max, Pooling::mean}) {
      const Target target{TileGrid(pyramid_map(spec_, factor)), std::make_shared<int>(-1)};
      const PyramidLevel level{hook.stack, hook.layer, pooling, factor};
      path_.pipeline.push(0, [&writer, prompt, level, spec = spec_, handle = target.handle] {
        *handle = writer.open_pyramid(prompt, level, spec);
      });
      levels_.emplace(LevelId{factor, pooling}, target);
    }
  }
}

void MapAssembler::add(const at::Tensor& rows, std::int64_t q_begin) {
  if (spec_.subset.q_positions.empty()) {
    store(rows);
  } else {
    const at::Tensor wanted =
        selected_rows(spec_.subset.q_positions, q_begin, q_begin + rows.size(1));
    if (wanted.numel() > 0) store(rows.index_select(1, wanted));
  }
  if (stored_ == spec_.queries) finish();
}

void MapAssembler::store(const at::Tensor& rows) {
  std::int64_t taken = 0;
  while (taken < rows.size(1)) {
    const std::int64_t height = map_.grid.tile_queries();
    const std::int64_t in_tile = stored_ % height;
    const std::int64_t tile_rows = std::min(height, spec_.queries - (stored_ - in_tile));
    const std::int64_t n = std::min(rows.size(1) - taken, tile_rows - in_tile);
    const at::Tensor part = rows.narrow(1, taken, n);
    taken += n;
    stored_ += n;
    if (n == tile_rows && rows.stride(2) == 1) {
      flush_tile_row(part);
      continue;
    }
    if (in_tile == 0) buffer_ = at::empty({spec_.heads, tile_rows, spec_.keys}, rows.options());
    buffer_.narrow(1, in_tile, n).copy_(part);
    if (in_tile + n == tile_rows) flush_tile_row(std::exchange(buffer_, {}));
  }
}

void MapAssembler::flush_tile_row(const at::Tensor& rows) {
  push_tiles(map_, rows, stored_ - rows.size(1), CountNan::yes);
  if (!pyramid_) return;
  for (const PyramidStrip& strip : pyramid_->add(rows)) {
    push_tiles(levels_.at({strip.factor, strip.pooling}), strip.values, strip.first, CountNan::no);
  }
}

void MapAssembler::push_tiles(const Target& target, const at::Tensor& rows, std::int64_t first,
                              CountNan count) {
  const DType dtype = dtype_of(rows);
  const std::size_t value = dtype_size(dtype);
  std::atomic<std::int64_t>* nan = count == CountNan::yes ? &path_.nan_values : nullptr;
  for (const Tile& tile : target.grid.tiles_of_rows(first)) {
    TileSource source;
    const std::int64_t offset = tile.head * rows.stride(0) + tile.key;
    source.data =
        static_cast<const char*>(rows.const_data_ptr()) + static_cast<std::size_t>(offset) * value;
    source.dtype = dtype;
    source.heads = tile.heads;
    source.queries = tile.queries;
    source.keys = tile.keys;
    source.head_stride = rows.stride(0);
    source.query_stride = rows.stride(1);
    const auto bytes = static_cast<std::uint64_t>(tile.heads * tile.queries * tile.keys) * value;
    path_.pipeline.push(
        bytes,
        // Holds the rows until their last tile is compressed.
        [rows, source, chunk = target.grid.target(), nan](ChunkCompressor& compressor) {
          if (nan != nullptr) {
            *nan +=
                source.dtype == DType::f64 ? count_nan<double>(source) : count_nan<float>(source);
          }
          return compressor.compress_tile(source, chunk);
        },
        [&writer = path_.writer, handle = target.handle, tile](const StoredChunk& chunk) {
          writer.write_tile(*handle, tile, chunk);
        });
  }
}

void MapAssembler::finish() {
  CaptureWriter& writer = path_.writer;
  path_.pipeline.push(0, [&writer, map = map_.handle] { writer.close_map(*map); });
  for (const auto& [id, level] : levels_) {
    path_.pipeline.push(0, [&writer, handle = level.handle] { writer.close_map(*handle); });
  }
}

}  // namespace attnscope
