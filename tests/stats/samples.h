// Random samples for the tests of this folder.
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "attnscope/stats/distributions.h"
#include "attnscope/support/philox.h"

namespace attnscope {

inline double normal(Philox& random) {
  return normal_quantile(1 - random.uniform());
}

// Mean 0, standard deviation 1, skewed to the right.
inline double exponential(Philox& random) {
  return -std::log(1 - random.uniform()) - 1;
}

inline std::vector<int> clusters_of_size(std::size_t clusters, std::size_t size) {
  std::vector<int> result;
  for (std::size_t i = 0; i < clusters * size; ++i) result.push_back(static_cast<int>(i / size));
  return result;
}

}  // namespace attnscope
