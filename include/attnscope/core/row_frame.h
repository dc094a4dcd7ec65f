// File: row_frame.h
// Where the tokens of a batch row lie in the tensors of a run.
#pragma once

#include <algorithm>
#include <vector>

#include "attnscope/core/batch.h"
#include "attnscope/kernels/attention_spec.h"

namespace attnscope {

// Keys that one query sees, as slots [begin, end) of the key axis. In every model here they are
// one range: real tokens are contiguous, and causal masks and windows cut ranges.
struct KeyRange {
  int begin = 0;
  int end = 0;
};

// One row. Slots are indices of a tensor's position axis; positions are those of the unpadded row.
// In a whole row slot = start + position on both axes. A resumed row starts at position `first`
// and has its keys from position 0 on.
struct RowFrame {
  int q_start = 0;   // slot of the first query
  int q_length = 0;  // number of queries
  int first = 0;     // position of the first query
  int k_start = 0;   // slot of key position 0
  int k_length = 0;  // number of keys

  int slot(int position) const { return q_start + position - first; }

  // Keys that the query in `slot` sees; empty for a pad.
  KeyRange visible(int slot, const AttentionSpec& spec) const {
    const int position = slot - q_start + first;
    if (slot < q_start || slot >= q_start + q_length) return {k_start, k_start};
    const bool causal = spec.mask == MaskKind::causal;
    const int end = causal ? std::min(position + 1, k_length) : k_length;
    const int begin = spec.window > 0 ? std::max(0, position - spec.window + 1) : 0;
    return {k_start + begin, k_start + end};
  }
};

// Frames of a batch of whole rows.
std::vector<RowFrame> row_frames(const Batch& batch);

}  // namespace attnscope
