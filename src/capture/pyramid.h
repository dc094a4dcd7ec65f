// File: pyramid.h
// Coarser pictures of long maps: largest and mean value of squares of 4, 16, 64 … cells.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "attnscope/storage/writer.h"

namespace attnscope {

// Maps above 1024 tokens get a pyramid, down to at most 256 cells a side.
bool has_pyramid(std::int64_t tokens);
std::vector<std::int64_t> pyramid_factors(std::int64_t tokens);
std::uint64_t pyramid_bytes(std::int64_t heads, std::int64_t tokens);

struct PyramidPart {
  Pooling pooling = Pooling::max;
  std::int64_t factor = 4;
  at::Tensor values;  // [h ⌈q/factor⌉ ⌈k/factor⌉] float32
};

// Takes the rows of one map in blocks, in query order.
class PyramidBuilder {
 public:
  // Room for a map [h q k] with q = k = tokens.
  PyramidBuilder(std::int64_t heads, std::int64_t tokens);
  // `rows` [h n k]; every block but the last starts and ends at a multiple of 4.
  void add(const at::Tensor& rows, std::int64_t q_begin);
  // Every level, finest first. The mean of a square at the edge counts the cells it has.
  std::vector<PyramidPart> finish() const;

 private:
  std::int64_t tokens_;
  at::Tensor largest_;  // [h ⌈q/4⌉ ⌈k/4⌉]
  at::Tensor sum_;      // the same
};

}  // namespace attnscope
