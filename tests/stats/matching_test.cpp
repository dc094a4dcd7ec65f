#include "attnscope/stats/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace attnscope {
namespace {

std::map<int, int> histogram(const std::vector<int>& set, const std::vector<int>& layers) {
  std::map<int, int> counts;
  for (const int unit : set) ++counts[layers[static_cast<std::size_t>(unit)]];
  return counts;
}

// Four layers of six units; the trait is the unit's number inside the layer.
const std::vector<int> kLayers = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1,
                                  2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3};
std::vector<double> ladder() {
  std::vector<double> traits;
  for (int i = 0; i < 24; ++i) traits.push_back(i % 6);
  return traits;
}

TEST(Matching, SetsHaveTheLayersOfTheTargetAndNoneOfItsUnits) {
  const std::vector<int> target = {0, 1, 8, 20};
  const auto sets = matched_sets(target, kLayers, ladder(), {.sets = 200, .seed = 4});
  ASSERT_EQ(sets.size(), 200u);
  std::set<std::vector<int>> different;
  for (const std::vector<int>& set : sets) {
    EXPECT_EQ(histogram(set, kLayers), histogram(target, kLayers));
    EXPECT_EQ(std::set<int>(set.begin(), set.end()).size(), set.size());
    for (const int unit : target) EXPECT_EQ(std::count(set.begin(), set.end(), unit), 0);
    different.insert(set);
  }
  EXPECT_GT(different.size(), 10u);
  EXPECT_EQ(sets, matched_sets(target, kLayers, ladder(), {.sets = 200, .seed = 4}));
}

TEST(Matching, WithoutJitterTheNearestIsTaken) {
  std::vector<double> traits = ladder();
  traits[15] = 2.9;  // in layer 2: 0, 1, 2, 2.9, 4, 5
  const std::vector<int> target = {14};
  for (const auto& set : matched_sets(target, kLayers, traits, {.sets = 20, .jitter = 0})) {
    EXPECT_EQ(set, std::vector<int>{15});
  }
}

// A trait in other units must not matter: without scaling, the second would drown the first.
TEST(Matching, TraitsAreStandardised) {
  const std::vector<int> layers(4, 0);
  const std::vector<double> traits = {0, 0,      //
                                      0, 300,    //
                                      1, 0,      //
                                      1, 1000};  // target 0: unit 1 is nearer in units of spread
  const std::vector<int> target = {0};
  EXPECT_EQ(matched_sets(target, layers, traits, {.sets = 1, .jitter = 0})[0], std::vector<int>{1});
}

TEST(Matching, ALayerWithTooFewOthersHasNoSets) {
  const std::vector<int> target = {0, 1, 2, 3};
  EXPECT_TRUE(matched_sets(target, kLayers, ladder(), {}).empty());
  const std::vector<int> three = {0, 1, 2};
  EXPECT_EQ(matched_sets(three, kLayers, ladder(), {.sets = 3})[0], (std::vector<int>{3, 4, 5}));
}

TEST(Matching, PercentileCountsTiesHalf) {
  const std::vector<double> controls = {1, 2, 2, 3};
  EXPECT_EQ(percentile_among(2, controls), .5);
  EXPECT_EQ(percentile_among(4, controls), 1);
  EXPECT_EQ(percentile_among(0, controls), 0);
  EXPECT_TRUE(std::isnan(percentile_among(1, {})));
}

}  // namespace
}  // namespace attnscope
