// File: batch.h
// Prompts as token ids, and a padded batch of them.
//
// Padding is the model's business: position ids count real tokens only, no statistic or sink sees
// a pad, and a padded batch gives what the rows would give alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace attnscope {

struct TokenRow {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> token_types;   // empty = all 0
  std::vector<std::int64_t> position_ids;  // empty = 0 … n−1
};

enum class PadSide { left, right };

// A row's place in a padded batch.
struct RowSpan {
  int start = 0;
  int length = 0;
};

// A batch and where its rows lie; immutable once made.
struct Batch {
  at::Tensor ids;           // [b q] int64; pads hold 0
  at::Tensor token_types;   // [b q] int64, or undefined
  at::Tensor position_ids;  // [b q] int64, from the real tokens unless given
  at::Tensor real;          // [b q] bool, true on real tokens; undefined when nothing is padded
  std::vector<RowSpan> rows;

  int size() const { return static_cast<int>(rows.size()); }
  int padded_length() const { return static_cast<int>(ids.size(1)); }
  bool padded() const { return real.defined(); }
};

// Rows of unequal length are padded on `side`. Throws (exit 2) on an empty batch or row.
Batch make_batch(const std::vector<TokenRow>& rows, PadSide side = PadSide::right);

// The part of `value` [b q …] that belongs to row `row`, without pads: [q' …].
at::Tensor unpadded(const at::Tensor& value, const Batch& batch, int row);
// The same for maps [b h q k] → [h q' k'].
at::Tensor unpadded_map(const at::Tensor& value, const Batch& batch, int row);

}  // namespace attnscope
