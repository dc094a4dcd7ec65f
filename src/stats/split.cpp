#include "attnscope/stats/split.h"

#include <utility>

#include "parallel.h"

namespace attnscope {

std::vector<Half> split_clusters(std::size_t clusters, std::uint64_t seed) {
  std::vector<Half> halves(clusters, Half::estimation);
  for (std::size_t c = 0; c < clusters / 2; ++c) halves[c] = Half::selection;
  Philox random = random_of(seed, RandomUse::split, 0, 0);
  for (std::size_t i = clusters; i > 1; --i) {
    std::swap(halves[i - 1], halves[random.below(static_cast<std::uint32_t>(i))]);
  }
  return halves;
}

std::vector<int> prompts_of(Half half, std::span<const Half> half_of_cluster,
                            std::span<const int> cluster_of_prompt) {
  std::vector<int> prompts;
  for (std::size_t p = 0; p < cluster_of_prompt.size(); ++p) {
    if (half_of_cluster[static_cast<std::size_t>(cluster_of_prompt[p])] != half) continue;
    prompts.push_back(static_cast<int>(p));
  }
  return prompts;
}

std::vector<double> take_prompts(std::span<const double> values, std::size_t rows,
                                 std::span<const int> prompts) {
  const std::size_t all = rows > 0 ? values.size() / rows : 0;
  std::vector<double> taken;
  taken.reserve(rows * prompts.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (const int prompt : prompts) {
      taken.push_back(values[row * all + static_cast<std::size_t>(prompt)]);
    }
  }
  return taken;
}

}  // namespace attnscope
