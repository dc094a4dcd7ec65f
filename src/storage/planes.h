// File: planes.h
// Rounding of map values and the byte shuffle, written so that compilers vectorise them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "attnscope/storage/codec.h"

namespace attnscope::storage_detail {

// A run of values of one tile row, all of one storage type.
struct RowJob {
  const float* values;
  std::size_t count;
  MapDType dtype;
  float floor;  // values with a smaller magnitude become 0; 0 = none
};

// Writes byte p of value i to planes[p·plane_stride + i]: rounding and HDF5's shuffle in one pass.
void store_row(const RowJob& job, std::byte* planes, std::size_t plane_stride);

// HDF5's shuffle: byte p of value i of `raw` goes to out[p·count + i].
void shuffle(const std::byte* raw, std::size_t count, std::size_t value_bytes, std::byte* out);

}  // namespace attnscope::storage_detail
