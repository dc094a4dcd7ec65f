// File: shape_text.h
// Shapes as messages show them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attnscope {

// "[768,2304]"
inline std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  }
  return out + "]";
}

}  // namespace attnscope
