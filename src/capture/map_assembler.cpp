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
    : path_(path),
      prompt_(prompt),
      hook_(hook),
      spec_(std::move(spec)),
      grid_(spec_),
      map_(std::make_shared<int>(-1)) {
  const bool whole = spec_.subset.q_positions.empty();
  if (spec_.kind == MapKind::pattern && whole && has_pyramid(spec_.keys)) {
    pyramid_.emplace(spec_.heads, spec_.keys);
  }
  CaptureWriter& writer = path_.writer;
  path_.pipeline.push(0, [&writer, prompt, hook, spec = spec_, map = map_] {
    *map = writer.open_map(prompt, hook, spec);
  });
}

void MapAssembler::add(const at::Tensor& rows, std::int64_t q_begin) {
  if (pyramid_) pyramid_->add(rows, q_begin);
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
    const std::int64_t height = grid_.tile_queries();
    const std::int64_t in_tile = stored_ % height;
    const std::int64_t tile_rows = std::min(height, spec_.queries - (stored_ - in_tile));
    if (in_tile == 0) buffer_ = at::empty({spec_.heads, tile_rows, spec_.keys}, rows.options());
    const std::int64_t n = std::min(rows.size(1) - taken, tile_rows - in_tile);
    buffer_.narrow(1, in_tile, n).copy_(rows.narrow(1, taken, n));
    taken += n;
    stored_ += n;
    if (in_tile + n == tile_rows) flush_tile_row();
  }
}

void MapAssembler::flush_tile_row() {
  const at::Tensor buffer = std::exchange(buffer_, {});
  const std::int64_t tile_rows = buffer.size(1);
  const std::int64_t first = stored_ - tile_rows;
  const DType dtype = dtype_of(buffer);
  const std::size_t value = dtype_size(dtype);
  const TileTarget target = grid_.target();
  for (const Tile& tile : grid_.tiles_of_rows(first)) {
    TileSource source;
    const std::int64_t offset = tile.head * tile_rows * spec_.keys + tile.key;
    source.data = static_cast<const char*>(buffer.const_data_ptr()) +
                  static_cast<std::size_t>(offset) * value;
    source.dtype = dtype;
    source.heads = tile.heads;
    source.queries = tile.queries;
    source.keys = tile.keys;
    source.head_stride = tile_rows * spec_.keys;
    source.query_stride = spec_.keys;
    const auto bytes = static_cast<std::uint64_t>(tile.heads * tile.queries * tile.keys) * value;
    path_.pipeline.push(
        bytes,
        // Holds the buffer until its last tile is compressed.
        [buffer, source, target, &nan = path_.nan_values](ChunkCompressor& compressor) {
          nan += source.dtype == DType::f64 ? count_nan<double>(source) : count_nan<float>(source);
          return compressor.compress_tile(source, target);
        },
        [&writer = path_.writer, map = map_, tile](const StoredChunk& chunk) {
          writer.write_tile(*map, tile, chunk);
        });
  }
}

void MapAssembler::finish() {
  CaptureWriter& writer = path_.writer;
  path_.pipeline.push(0, [&writer, map = map_] { writer.close_map(*map); });
  if (!pyramid_) return;
  for (PyramidPart& part : pyramid_->finish()) {
    PyramidLevel level;
    level.stack = hook_.stack;
    level.layer = hook_.layer;
    level.pooling = part.pooling;
    level.factor = part.factor;
    const auto bytes = static_cast<std::uint64_t>(part.values.nbytes());
    path_.pipeline.push(bytes, [&writer, prompt = prompt_, level, values = part.values]() mutable {
      level.values = view_of(values);
      writer.write_pyramid(prompt, level);
    });
  }
  pyramid_.reset();
}

}  // namespace attnscope
