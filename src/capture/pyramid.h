// File: pyramid.h
// Coarser pictures of long maps: largest and mean value of squares of 4, 16, 64 … cells.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "attnscope/storage/schema.h"

namespace attnscope {

// Bytes of the values that the levels add to a file, and of the strips that a builder holds.
std::uint64_t pyramid_bytes(const MapSpec& map);
std::uint64_t pyramid_held_bytes(const MapSpec& map);

// Finished rows of one level: as many as a row of tiles has, the last ones what is left.
struct PyramidStrip {
  Pooling pooling = Pooling::max;
  std::int64_t factor = 4;
  std::int64_t first = 0;  // row of the level
  at::Tensor values;       // [h r ⌈k/factor⌉] float32
};

// Takes the rows of one map in blocks, in query order. Each level takes the finished rows of the
// one below, so that a strip of each is held and never a whole level.
class PyramidBuilder {
 public:
  // `map` [h q k] must have a pyramid.
  explicit PyramidBuilder(const MapSpec& map);
  // `rows` [h n k]; every block but the last has a multiple of 4 rows. Returns the strips that they
  // finish, in an order that follows from the blocks alone. The mean of a square at the edge counts
  // the cells it has.
  std::vector<PyramidStrip> add(const at::Tensor& rows);

 private:
  struct Level {
    std::int64_t factor = 4;
    std::int64_t rows = 0, columns = 0;  // of the whole level
    std::int64_t strip_rows = 0;         // of a full strip
    std::int64_t done = 0;               // rows so far
    at::Tensor largest, sum;             // [h r k'], the strip under way
  };

  // Rows [h n k] of the level below, with the sums of their cells.
  void pool(std::size_t level, const at::Tensor& largest, const at::Tensor& sum,
            std::vector<PyramidStrip>& finished);
  void finish_strip(std::size_t level, std::vector<PyramidStrip>& finished);

  MapSpec map_;
  std::vector<Level> levels_;  // finest first
};

}  // namespace attnscope
