#include "attnscope/stats/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace attnscope {
namespace {

TEST(Split, HalvesDifferByAtMostOneCluster) {
  for (const std::size_t n : {0, 1, 2, 7, 100}) {
    const std::vector<Half> halves = split_clusters(n, 3);
    ASSERT_EQ(halves.size(), n);
    EXPECT_EQ(std::count(halves.begin(), halves.end(), Half::selection), static_cast<long>(n / 2));
  }
}

TEST(Split, SeedDecides) {
  EXPECT_EQ(split_clusters(50, 1), split_clusters(50, 1));
  EXPECT_NE(split_clusters(50, 1), split_clusters(50, 2));
}

// Each cluster lands in each half about as often: 4 standard deviations.
TEST(Split, EveryClusterIsSelectedEquallyOften) {
  std::vector<int> selected(9);
  for (std::uint64_t seed = 0; seed < 900; ++seed) {
    const std::vector<Half> halves = split_clusters(9, seed);
    for (std::size_t c = 0; c < 9; ++c) selected[c] += halves[c] == Half::selection ? 1 : 0;
  }
  for (const int count : selected) EXPECT_NEAR(count, 400, 60);
}

TEST(Split, PromptsGoWithTheirCluster) {
  const std::vector<Half> halves = {Half::selection, Half::estimation, Half::selection};
  const std::vector<int> clusters = {0, 1, 1, 2, 0, 1};
  const std::vector<int> prompts = prompts_of(Half::estimation, halves, clusters);
  EXPECT_EQ(prompts, (std::vector<int>{1, 2, 5}));
  EXPECT_EQ(prompts_of(Half::selection, halves, clusters), (std::vector<int>{0, 3, 4}));
  const std::vector<double> values = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(take_prompts(values, 2, prompts), (std::vector<double>{1, 2, 5, 11, 12, 15}));
}

}  // namespace
}  // namespace attnscope
