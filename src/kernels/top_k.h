// File: top_k.h
// The k largest values of a row, in falling order, ties by the lower index.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace attnscope {

template <typename T>
class TopK {
 public:
  struct Entry {
    T value;
    std::int32_t index;
  };

  explicit TopK(int k) : entries_(static_cast<std::size_t>(k)) {}

  void clear() { size_ = 0; }
  int size() const { return size_; }
  const Entry* begin() const { return entries_.data(); }
  const Entry* end() const { return entries_.data() + size_; }

  // No value below this can enter.
  T bar() const {
    return size_ < static_cast<int>(entries_.size()) ? -std::numeric_limits<T>::infinity()
                                                     : entries_.back().value;
  }

  // False if neither `value` at `first_index` nor anything smaller or later can enter.
  bool can_enter(T value, std::int32_t first_index) const {
    return size_ < static_cast<int>(entries_.size()) ||
           before({value, first_index}, entries_.data()[size_ - 1]);
  }

  // Cheapest when values come in falling order. NaN never enters.
  void offer(T value, std::int32_t index) {
    if (!can_enter(value, index) || value != value) return;
    Entry* const first = entries_.data();
    Entry* place = first + (size_ < static_cast<int>(entries_.size()) ? size_++ : size_ - 1);
    for (; place != first && before({value, index}, place[-1]); --place) *place = place[-1];
    *place = {value, index};
  }

 private:
  static bool before(Entry a, Entry b) {
    return a.value > b.value || (a.value == b.value && a.index < b.index);
  }

  int size_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace attnscope
