// File: map_assembler.h
// From blocks of map rows, as the runtime shows them, to the tiles of one stored map.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

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
  // Rows of `rows` that are stored: the first `n` of them from the tile row's next free row on.
  void store(const at::Tensor& rows);
  void flush_tile_row();
  void finish();

  ResultPath path_;
  int prompt_;
  HookId hook_;
  MapSpec spec_;
  TileGrid grid_;
  std::shared_ptr<int> map_;  // the writer's handle, known on the writer thread
  at::Tensor buffer_;         // [h tile_rows k], rows of the tile row under way
  std::int64_t stored_ = 0;   // rows taken so far
  std::optional<PyramidBuilder> pyramid_;
};

}  // namespace attnscope
