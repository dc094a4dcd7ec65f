// File: top_keys.h
// The k largest values of a row, in falling order, ties by the lower key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "row_kernels.h"

namespace attnscope {

// The candidates of a row and their order; reused from row to row.
template <typename T>
struct TopKeysScratch {
  explicit TopKeysScratch(int n_keys);

  row_kernels::CandidateArrays<T> arrays();

  // Drops the candidates for which test(value, key) holds and returns how many are left of `count`.
  template <typename Test>
  int remove(int count, Test&& test) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (test(values[i], keys[i])) continue;
      values[kept] = values[i];
      keys[kept++] = keys[i];
    }
    return static_cast<int>(kept);
  }

  // order[0 … k−1] := the places of the first k of `count` candidates.
  void order_first(int k, int count);

  std::vector<T> values;           // [candidate]
  std::vector<std::int32_t> keys;  // [candidate]
  std::vector<std::int32_t> order;
  std::vector<T> maxima;             // [block]
  std::vector<std::int32_t> blocks;  // [block]
};

}  // namespace attnscope
