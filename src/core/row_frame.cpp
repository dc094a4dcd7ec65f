#include "attnscope/core/row_frame.h"

namespace attnscope {

std::vector<RowFrame> row_frames(const Batch& batch) {
  std::vector<RowFrame> frames;
  frames.reserve(batch.rows.size());
  for (const RowSpan& row : batch.rows) {
    frames.push_back({.q_start = row.start,
                      .q_length = row.length,
                      .first = 0,
                      .k_start = row.start,
                      .k_length = row.length});
  }
  return frames;
}

}  // namespace attnscope
