// File: map_blocks.h
// The arithmetic of one block of explicit maps. Two implementations: in place on the CPU, and
// composed from LibTorch's operators, which runs on every device and can be differentiated.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "attention.h"
#include "attnscope/core/row_frame.h"
#include "run.h"

namespace attnscope {

// Some queries of one layer.
struct QueryBlock {
  int begin = 0;  // query slots [begin, end)
  int end = 0;
  KeyRange keys;  // the least range that holds every key that some query of some row sees

  int count() const { return end - begin; }
};

// How much of a block of maps must hold true values.
enum class MapWidth : std::uint8_t {
  visible,  // the block's keys
  to_end,   // from key 0 to the block's last key
  whole,    // all keys: somebody looks at the maps or changes them
};

// Log-sum-exp of each row of scores and the weight on the learned sink, [b h' q']; undefined where
// they are not known.
struct RowSums {
  at::Tensor lse;
  at::Tensor sink_mass;
};

class MapBlocks {
 public:
  virtual ~MapBlocks() = default;

  // q·k·scale with its soft-cap, [b h' q' k]; −inf on hidden keys within `width`.
  virtual at::Tensor scores(const QueryBlock& block, MapWidth width) = 0;
  // The pattern; may reuse the memory of `scores`. `changed` says that scores may be finite on
  // hidden keys or −inf on visible ones.
  virtual at::Tensor pattern(at::Tensor scores, const QueryBlock& block, MapWidth width,
                             bool changed, RowSums& sums) = 0;
  // pattern·v [b q' h' d], reading the keys `keys` of the pattern.
  virtual at::Tensor z(const at::Tensor& pattern, const QueryBlock& block, KeyRange keys) = 0;
};

// Q, K and V of the heads that a request names, in the accumulation type.
struct HeadGroup {
  at::Tensor q;     // [b q g' r d], r query heads share each key head
  at::Tensor k;     // [b g' k d]
  at::Tensor v;     // [b g' k d]
  at::Tensor sink;  // [h'], or undefined
};

std::unique_ptr<MapBlocks> make_in_place_blocks(Run& run, const AttentionSpec& spec,
                                                HeadGroup group);
std::unique_ptr<MapBlocks> make_composed_blocks(Run& run, const AttentionSpec& spec,
                                                HeadGroup group);

}  // namespace attnscope
