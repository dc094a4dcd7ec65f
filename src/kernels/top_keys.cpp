#include "top_keys.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace attnscope {
namespace {

// Up to here counting those that come before a candidate is faster than sorting: it branches on no
// value.
constexpr int kFew = 3 * row_kernels::kBlockLanes;

}  // namespace

template <typename T>
TopKeysScratch<T>::TopKeysScratch(int n_keys)
    : values(static_cast<std::size_t>(n_keys + row_kernels::kBlockLanes)),
      keys(values.size()),
      order(values.size()),
      maxima(static_cast<std::size_t>(row_kernels::block_count(n_keys))),
      blocks(maxima.size()) {}

template <typename T>
row_kernels::CandidateArrays<T> TopKeysScratch<T>::arrays() {
  return {values.data(), keys.data(), maxima.data(), blocks.data()};
}

template <typename T>
void TopKeysScratch<T>::order_first(int k, int count) {
  if (count <= kFew) {
    std::array<std::int32_t, kFew> places;
    row_kernels::count_before(values.data(), keys.data(), count, places.data());
    for (int i = 0; i < count; ++i) {
      order[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])] = i;
    }
    return;
  }
  const T* const value = values.data();
  const std::int32_t* const key = keys.data();
  std::int32_t* const places = order.data();
  std::iota(places, places + count, 0);
  std::partial_sort(places, places + k, places + count, [value, key](int a, int b) {
    return value[a] > value[b] || (value[a] == value[b] && key[a] < key[b]);
  });
}

template struct TopKeysScratch<float>;
template struct TopKeysScratch<double>;

}  // namespace attnscope
