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
  explicit TopK(int k)
      : k_(k), values_(static_cast<std::size_t>(k)), indices_(static_cast<std::size_t>(k)) {}

  void clear() { size_ = 0; }
  int size() const { return size_; }
  T value(int rank) const { return values_[static_cast<std::size_t>(rank)]; }
  std::int32_t index(int rank) const { return indices_[static_cast<std::size_t>(rank)]; }

  // A value must exceed this to enter when indices are offered in rising order.
  T bar() const { return size_ == k_ ? values_.back() : -std::numeric_limits<T>::infinity(); }

  void offer(T value, std::int32_t index) {
    if (!(value > bar())) return;
    int place = size_ < k_ ? size_++ : k_ - 1;
    for (; place > 0 && this->value(place - 1) < value; --place) {
      values_[static_cast<std::size_t>(place)] = values_[static_cast<std::size_t>(place) - 1];
      indices_[static_cast<std::size_t>(place)] = indices_[static_cast<std::size_t>(place) - 1];
    }
    values_[static_cast<std::size_t>(place)] = value;
    indices_[static_cast<std::size_t>(place)] = index;
  }

 private:
  int k_;
  int size_ = 0;
  std::vector<T> values_;
  std::vector<std::int32_t> indices_;
};

}  // namespace attnscope
