// File: tensor_part.h
// The check that every TensorSource makes before it reads.
#pragma once

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

inline bool holds_part(const TensorInfo& tensor, std::uint64_t offset, std::uint64_t bytes) {
  return offset <= tensor.bytes && bytes <= tensor.bytes - offset;
}

}  // namespace attnscope
