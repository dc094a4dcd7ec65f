#include "attnscope/capture/head_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attnscope {
namespace {

constexpr auto kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> stats(int heads, float first) {
  std::vector<float> values;
  for (int i = 0; i < heads * kHeadStatCount; ++i) values.push_back(first + static_cast<float>(i));
  return values;
}

TEST(HeadSummary, MeansLeaveOutUndefinedValues) {
  HeadSummary summary({2, 1});
  const auto induction = static_cast<std::size_t>(HeadStat::induction);
  auto one = stats(2, 0);
  auto two = stats(2, 100);
  one[induction] = kNan;                   // head 0.0 of the first prompt
  one[kHeadStatCount + induction] = kNan;  // head 0.1 of both
  two[kHeadStatCount + induction] = kNan;
  summary.add(0, one);
  summary.add(0, two);
  EXPECT_EQ(summary.mean({0, 0}, HeadStat::entropy), 50);
  EXPECT_EQ(summary.mean({0, 0}, HeadStat::induction), 100 + static_cast<double>(induction));
  EXPECT_TRUE(std::isnan(summary.mean({0, 1}, HeadStat::induction)));
  EXPECT_TRUE(std::isnan(summary.mean({1, 0}, HeadStat::entropy)));
}

TEST(HeadSummary, LargestFirstTiesByPlace) {
  HeadSummary summary({2, 2});
  std::vector<float> layer(2 * kHeadStatCount, 0.5F);
  summary.add(0, layer);
  layer[kHeadStatCount + static_cast<std::size_t>(HeadStat::sink)] = 0.9F;
  summary.add(1, layer);
  const auto top = summary.top(HeadStat::sink, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].head, (HeadId{1, 1}));
  EXPECT_EQ(top[1].head, (HeadId{0, 0}));
  EXPECT_EQ(top[2].head, (HeadId{0, 1}));
}

}  // namespace
}  // namespace attnscope
