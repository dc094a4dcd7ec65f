#include "top_keys.h"

#include <algorithm>
#include <numeric>

namespace attnscope {
namespace {

// Up to here counting those that come before a candidate is faster than sorting: it branches on no
// value.
constexpr int kFew = 48;

}  // namespace

template <typename T>
TopKeysScratch<T>::TopKeysScratch(int n_keys)
    : values(static_cast<std::size_t>(n_keys)),
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
  const T* const value = values.data();
  const std::int32_t* const key = keys.data();
  std::int32_t* const places = order.data();
  if (count > kFew) {
    std::iota(places, places + count, 0);
    std::partial_sort(places, places + k, places + count, [&](int a, int b) {
      return value[a] > value[b] || (value[a] == value[b] && key[a] < key[b]);
    });
    return;
  }
  for (int i = 0; i < count; ++i) {
    int n_before = 0;
    for (int j = 0; j < count; ++j) {
      const int larger = value[j] > value[i] ? 1 : 0;
      const int earlier = (value[j] == value[i] ? 1 : 0) & (key[j] < key[i] ? 1 : 0);
      n_before += larger | earlier;
    }
    places[n_before] = i;
  }
}

template struct TopKeysScratch<float>;
template struct TopKeysScratch<double>;

}  // namespace attnscope
