// File: intervention.h
// The arithmetic of one intervention on one batch row.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "attnscope/core/row_frame.h"
#include "attnscope/core/taps.h"
#include "selection.h"

namespace attnscope {

// The tensor an intervention works on: all of a site's value, or a block of map rows.
struct Target {
  at::Tensor original;                   // [b …] before any intervention of this site
  at::Tensor value;                      // [b …] being changed
  std::vector<std::int64_t> site_shape;  // shape of the whole site, of which `value` may be a block
  std::string name;                      // hook name, for messages
};

// The entries of one row, in the target and in a tensor of the whole site's shape.
struct RowPart {
  int row = 0;
  int ordinal = 0;  // the row's place among the intervention's rows
  Selection in_target;
  Selection in_site;
  Selection in_source_row;  // copy_from_row: the same positions of the source row, in the target
  std::int64_t q_selected = 0;  // maps: queries selected in all blocks, and how many of them lie
  std::int64_t q_before = 0;    //       in earlier blocks
};

// What the entries become; `old` is what they are now. Uniform rows are made by uniform_rows().
at::Tensor changed_part(const Intervention& intervention, const Target& target, const RowPart& part,
                        const at::Tensor& old);

// Rows of a uniform pattern, [q' k]: 1/(visible keys) on the keys that each query sees.
at::Tensor uniform_rows(const AxisPart& queries, int q_begin, const RowFrame& frame,
                        const AttentionSpec& spec, const at::Tensor& like);

}  // namespace attnscope
