// File: aligned_buffer.h
// Memory for values that are always written before they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace attnscope {

// Starts at a cache line and grows when more is asked for; growing loses what it held.
template <typename T>
class AlignedBuffer {
 public:
  T* at_least(std::int64_t n_values) {
    if (n_values > n_values_) {
      const std::size_t bytes = static_cast<std::size_t>(n_values) * sizeof(T);
      values_.reset(static_cast<T*>(::operator new(bytes, kLine)));
      n_values_ = n_values;
    }
    return values_.get();
  }
  T* data() const { return values_.get(); }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(T* values) const { ::operator delete(values, kLine); }
  };
  std::unique_ptr<T, Free> values_;
  std::int64_t n_values_ = 0;
};

}  // namespace attnscope
