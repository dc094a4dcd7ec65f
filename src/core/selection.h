// File: selection.h
// Which entries of one batch row an intervention touches.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "attnscope/core/row_frame.h"
#include "attnscope/core/taps.h"

namespace attnscope {

// Indices along one axis: a range, or a list where they are not contiguous.
struct AxisPart {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::vector<std::int64_t> list;

  static AxisPart range(std::int64_t begin, std::int64_t length) { return {begin, length, {}}; }
  static AxisPart of(std::vector<std::int64_t> indices);
  std::int64_t count() const {
    return list.empty() ? length : static_cast<std::int64_t>(list.size());
  }
};

// A part of a tensor, axis by axis; axes beyond the last are whole.
using Selection = std::vector<AxisPart>;

// The selected entries; a view where all parts are ranges.
at::Tensor read_part(const at::Tensor& tensor, const Selection& selection);
// Overwrites them with `part`, which has the shape that read_part gives.
void write_part(at::Tensor tensor, const Selection& selection, const at::Tensor& part);

// Slots of positions (−1 is the last; empty means all) among `length` positions, the first of
// which is `first` and lies in slot `start`. `where` names the intervention in errors.
AxisPart position_slots(const std::vector<int>& positions, int start, int first, int length,
                        const std::string& where);
AxisPart head_indices(const std::vector<int>& heads, std::int64_t n_heads,
                      const std::string& where);

}  // namespace attnscope
