// File: map_assembler.h
// From blocks of map rows, as the runtime shows them, to the tiles of one stored map and its
// pyramid. A row of tiles of each is held, never a whole map.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "attnscope/storage/writer.h"
#include "pyramid.h"
#include "write_pipeline.h"

namespace attnscope {

// Where results go. The writer is touched by the pipeline's writer thread only.
struct ResultPath {
  WritePipeline& pipeline;
  CaptureWriter& writer;
  std::atomic<std::int64_t>& nan_values;  // NaN seen in what is stored
};

// One map of one prompt.
class MapAssembler {
 public:
  MapAssembler(const ResultPath& path, int prompt, HookId hook, MapSpec spec);
  // `rows` [h n k]: finished rows of queries q_begin … of the unpadded prompt, in query order.
  void add(const at::Tensor& rows, std::int64_t q_begin);

 private:
  // A dataset of the file: how it is cut, and the writer's handle, known on the writer thread.
  struct Target {
    TileGrid grid;
    std::shared_ptr<int> handle;
  };
  enum class CountNan : std::uint8_t { no, yes };
  using LevelId = std::pair<std::int64_t, Pooling>;  // factor, pooling

  void open_pyramid(int prompt, HookId hook);
  // Puts `rows` [h n k], all of which are stored, into the row of tiles under way. Rows that make a
  // whole row of tiles are kept as they are.
  void store(const at::Tensor& rows);
  // `rows` [h r k]: a whole row of tiles, the last of the rows taken.
  void flush_tile_row(const at::Tensor& rows);
  // Hands over the row of tiles that begins at `first`; `rows` [h r k] of the dataset, those of a
  // query side by side.
  void push_tiles(const Target& target, const at::Tensor& rows, std::int64_t first, CountNan count);
  void finish();

  ResultPath path_;
  MapSpec spec_;
  Target map_;
  at::Tensor buffer_;        // [h tile_rows k], rows of a tile row that come in pieces
  std::int64_t stored_ = 0;  // rows taken so far
  std::optional<PyramidBuilder> pyramid_;
  std::map<LevelId, Target> levels_;
};

}  // namespace attnscope
