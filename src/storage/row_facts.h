// File: row_facts.h
// What the stored statistics say of the rows of attention maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/storage/reader.h"

namespace attnscope::storage_detail {

// Of one prompt and stack.
class RowFacts {
 public:
  RowFacts(const CaptureReader& reader, int prompt, Stack stack);
  // Mass on the learned sink; nothing where it is not stored.
  std::optional<double> sink(int layer, std::int64_t head, std::int64_t query) const;
  // The log-sum-exp is NaN: the row holds NaN and no numbers can be asked of it.
  bool is_nan(int layer, std::int64_t head, std::int64_t query) const;

 private:
  std::optional<double> value(std::ptrdiff_t column, int layer, std::int64_t head,
                              std::int64_t query) const;

  std::vector<std::int64_t> layers_;
  std::vector<std::int64_t> shape_;  // [l h q r]
  std::vector<float> values_;
  std::ptrdiff_t lse_ = -1, sink_ = -1;
};

}  // namespace attnscope::storage_detail
