// Values known in closed form, every rule about what is undefined, and misuse.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/support/error.h"

namespace attnscope::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// A single head.
struct Head {
  std::vector<std::vector<double>> rows;
  std::vector<std::int64_t> ids;
  std::vector<double> norms;  // empty: all 1
  std::vector<double> sink;   // empty: none
  bool causal = true;
  bool cross = false;

  AttentionStatistics statistics() const {
    const int n_queries = static_cast<int>(rows.size());
    const int n_keys = static_cast<int>(rows.front().size());
    std::vector<std::int64_t> tokens = ids;
    if (tokens.empty()) {
      for (int j = 0; j < n_keys; ++j) tokens.push_back(j);
    }
    StatisticsShape shape{
        .n_heads = 1, .n_queries = n_queries, .n_keys = n_keys, .causal = causal, .cross = cross};
    if (!cross) shape.ids = tokens;
    StatisticsAccumulator accumulator(shape);
    const double no_lse = 0;
    for (int i = 0; i < n_queries; ++i) {
      const auto row = static_cast<std::size_t>(i);
      accumulator.add_rows(0, i, 1, rows[row].data(), n_keys, &no_lse,
                           sink.empty() ? nullptr : &sink[row]);
    }
    const std::vector<double> ones(static_cast<std::size_t>(n_keys), 1.0);
    accumulator.set_value_norm(0, norms.empty() ? ones.data() : norms.data());
    return accumulator.finish();
  }

  double head(HeadStat stat) const {
    return statistics().head_stats[static_cast<std::size_t>(stat)];
  }
  double row(int i, RowStat stat) const {
    return statistics()
        .row_stats[static_cast<std::size_t>(i * kRowStatCount + static_cast<int>(stat))];
  }
};

// Row i is uniform over its visible keys.
Head uniform(int n, bool causal) {
  Head head;
  head.causal = causal;
  for (int i = 0; i < n; ++i) {
    const int visible = causal ? i + 1 : n;
    std::vector<double> row(static_cast<std::size_t>(n), 0.0);
    for (int j = 0; j < visible; ++j) row[static_cast<std::size_t>(j)] = 1.0 / visible;
    head.rows.push_back(row);
  }
  return head;
}

// Row i has all its mass on key target[i].
Head one_hot(const std::vector<int>& target) {
  Head head;
  for (const int key : target) {
    std::vector<double> row(target.size(), 0.0);
    row[static_cast<std::size_t>(key)] = 1;
    head.rows.push_back(row);
  }
  return head;
}

TEST(ClosedForms, UniformCausalRows) {
  const int n = 50;
  const Head head = uniform(n, true);
  for (int i = 0; i < n; ++i) {
    EXPECT_NEAR(head.row(i, RowStat::entropy), std::log(i + 1.0), 1e-6);
    EXPECT_NEAR(head.row(i, RowStat::distance), i / 2.0, 1e-5);
    EXPECT_NEAR(head.row(i, RowStat::max), 1.0 / (i + 1), 1e-7);
  }
  EXPECT_NEAR(head.head(HeadStat::entropy_norm), 1, 1e-6);
  EXPECT_NEAR(head.head(HeadStat::effective_keys), (n + 1) / 2.0, 1e-5);
  EXPECT_NEAR(head.head(HeadStat::distance), (n - 1) / 4.0, 1e-5);
}

TEST(ClosedForms, UniformBidirectionalRows) {
  const int n = 20;
  const Head head = uniform(n, false);
  EXPECT_NEAR(head.head(HeadStat::entropy), std::log(20.0), 1e-6);
  EXPECT_NEAR(head.head(HeadStat::effective_keys), 20, 1e-5);
  // The mean of |i − j| over all pairs is (n² − 1) / 3n.
  EXPECT_NEAR(head.head(HeadStat::distance), (n * n - 1) / (3.0 * n), 1e-5);
  for (const HeadStat stat : {HeadStat::self, HeadStat::sink, HeadStat::previous, HeadStat::next}) {
    EXPECT_NEAR(head.head(stat), 1.0 / n, 1e-7) << head_stat_name(stat);
  }
}

TEST(ClosedForms, OneHotRows) {
  const Head head = one_hot({0, 0, 1, 2, 3});  // a previous-token head
  EXPECT_EQ(head.head(HeadStat::entropy), 0);
  EXPECT_EQ(head.head(HeadStat::max), 1);
  EXPECT_EQ(head.head(HeadStat::effective_keys), 1);
  EXPECT_EQ(head.head(HeadStat::previous), 1);
  EXPECT_FLOAT_EQ(static_cast<float>(head.head(HeadStat::self)), 0.2F);
  EXPECT_FLOAT_EQ(static_cast<float>(head.head(HeadStat::sink)), 0.25F);
  EXPECT_FLOAT_EQ(static_cast<float>(head.head(HeadStat::distance)), 0.8F);
}

// Olsson et al. 2022: on BOS + s + s the induction head attends from a token to the one after its
// earlier copy. Only rows that have an earlier copy count: 10 of 21 here, not all.
TEST(ClosedForms, PerfectInductionHead) {
  std::vector<int> target(21, 0);
  Head head;
  for (int i = 1; i < 21; ++i) head.ids.push_back(100 + (i - 1) % 10);
  head.ids.insert(head.ids.begin(), 0);
  for (int i = 11; i < 21; ++i) target[static_cast<std::size_t>(i)] = i - 10 + 1;
  head.rows = one_hot(target).rows;
  EXPECT_EQ(head.head(HeadStat::induction), 1);
  EXPECT_EQ(head.head(HeadStat::duplicate), 0);
  for (int i = 11; i < 21; ++i) target[static_cast<std::size_t>(i)] = i - 10;
  head.rows = one_hot(target).rows;
  EXPECT_EQ(head.head(HeadStat::induction), 0);
  EXPECT_EQ(head.head(HeadStat::duplicate), 1);
}

// a a a: row 1 has a duplicate (0) but no induction key, since the key after 0 is row 1 itself.
TEST(ClosedForms, InductionKeyLiesBeforeTheQuery) {
  Head head = uniform(3, true);
  head.ids = {7, 7, 7};
  EXPECT_NEAR(head.head(HeadStat::duplicate), (1.0 / 2 + 2.0 / 3) / 2, 1e-7);
  EXPECT_NEAR(head.head(HeadStat::induction), 1.0 / 3, 1e-7);
}

// Kobayashi et al. 2020: weight .9 on a zero value counts nothing.
TEST(ClosedForms, NormWeighted) {
  Head head;
  head.causal = false;
  head.rows = {{.9, .1}, {.9, .1}};
  head.norms = {0, 3};
  EXPECT_FLOAT_EQ(static_cast<float>(head.head(HeadStat::norm_weighted)), 0.3F);
  EXPECT_EQ(head.head(HeadStat::max), 0.9F);
}

// With a learned sink of mass ½ a row has one more outcome than keys.
TEST(ClosedForms, LearnedSink) {
  Head head;
  head.rows = {{.5, 0, 0}, {.25, .25, 0}, {.5 / 3, .5 / 3, .5 / 3}};
  head.sink = {.5, .5, .5};
  EXPECT_NEAR(head.row(1, RowStat::entropy), 1.5 * std::log(2), 1e-7);
  EXPECT_EQ(head.row(1, RowStat::learned_sink), 0.5F);
  EXPECT_EQ(head.row(1, RowStat::max), 0.25F);
  EXPECT_EQ(head.head(HeadStat::learned_sink), 0.5F);
  const double last = .5 * std::log(2) + .5 * std::log(6);
  EXPECT_NEAR(head.head(HeadStat::entropy_norm),
              (1.5 * std::log(2) / std::log(3) + last / std::log(4)) / 2, 1e-6);
  EXPECT_NEAR(head.head(HeadStat::effective_keys), (2 + 1 / .375 + 3) / 3, 1e-6);
}

// Callers may give a sink mass of 0 where a model has no sink: nothing changes.
TEST(ClosedForms, SinkMassOfZeroIsNoSink) {
  Head head = uniform(9, true);
  head.sink.assign(9, 0.0);
  EXPECT_NEAR(head.head(HeadStat::entropy_norm), 1, 1e-6);
}

TEST(ClosedForms, OverviewByteIsTheRoundedRoot) {
  Head head;
  head.causal = false;
  head.rows = {{1, 0}, {.25, .75}};
  EXPECT_EQ(head.statistics().overview, (std::vector<std::uint8_t>{255, 0, 128, 221}));
}

TEST(Undefined, OneTokenHasNoEarlierAndNoLaterOne) {
  for (const bool causal : {true, false}) {
    Head head;
    head.causal = causal;
    head.rows = {{1}};
    for (const HeadStat stat : {HeadStat::entropy_norm, HeadStat::sink, HeadStat::previous,
                                HeadStat::next, HeadStat::duplicate, HeadStat::induction}) {
      EXPECT_TRUE(std::isnan(head.head(stat))) << head_stat_name(stat);
    }
    EXPECT_EQ(head.head(HeadStat::self), 1);
    EXPECT_EQ(head.head(HeadStat::entropy), 0);
    EXPECT_EQ(head.row(0, RowStat::sink), 1);
  }
}

TEST(Undefined, CausalHeadHasNoNextToken) {
  EXPECT_TRUE(std::isnan(uniform(5, true).head(HeadStat::next)));
}

TEST(Undefined, NoRepeatedTokenMeansNoDuplicateAndNoInduction) {
  const Head head = uniform(5, true);
  EXPECT_TRUE(std::isnan(head.head(HeadStat::duplicate)));
  EXPECT_TRUE(std::isnan(head.head(HeadStat::induction)));
}

TEST(Undefined, CrossAttentionHasNoPositionsInCommon) {
  Head head = uniform(4, false);
  head.cross = true;
  for (const HeadStat stat : {HeadStat::self, HeadStat::previous, HeadStat::next,
                              HeadStat::duplicate, HeadStat::induction}) {
    EXPECT_TRUE(std::isnan(head.head(stat))) << head_stat_name(stat);
  }
  EXPECT_EQ(head.head(HeadStat::sink), 0.25F);
}

TEST(Undefined, RowWithoutMassIsLeftOut) {
  Head head;
  head.causal = false;
  head.rows = {{.5, .5}, {0, 0}};
  EXPECT_TRUE(std::isnan(head.row(1, RowStat::entropy)));
  EXPECT_TRUE(std::isnan(head.row(1, RowStat::max)));
  EXPECT_FLOAT_EQ(static_cast<float>(head.head(HeadStat::entropy)),
                  static_cast<float>(std::log(2)));
  EXPECT_EQ(head.head(HeadStat::max), 0.5F);
  EXPECT_TRUE(std::isnan(head.head(HeadStat::sink)));  // its only row has no mass
  const AttentionStatistics statistics = head.statistics();
  EXPECT_EQ(statistics.key_sum, (std::vector<float>{.5F, .5F}));
  EXPECT_EQ(statistics.topk_index, (std::vector<std::int32_t>{0, 1, -1, -1}));
  head.rows[0] = {0, 0};
  for (int s = 0; s < kHeadStatCount; ++s) {
    EXPECT_TRUE(std::isnan(head.head(static_cast<HeadStat>(s)))) << s;
  }
}

TEST(Undefined, AllMassOnTheSinkIsADistribution) {
  Head head;
  head.rows = {{0}};
  head.sink = {1};
  EXPECT_EQ(head.head(HeadStat::entropy), 0);
  EXPECT_EQ(head.head(HeadStat::max), 0);
  EXPECT_EQ(head.head(HeadStat::effective_keys), 1);
}

TEST(Undefined, NanAndNegativeWeightsAreNotHidden) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Head head;
  head.causal = false;
  head.rows = {{nan, nan}, {nan, nan}};
  EXPECT_TRUE(std::isnan(head.head(HeadStat::entropy)));
  EXPECT_TRUE(std::isnan(head.head(HeadStat::max)));
  head.rows = {{1.5, -.5}, {.5, .5}};
  EXPECT_TRUE(std::isnan(head.head(HeadStat::entropy)));
  EXPECT_EQ(head.head(HeadStat::max), 1);
}

TEST(Undefined, TopKeysBeyondTheVisibleOnes) {
  const AttentionStatistics statistics = uniform(3, true).statistics();
  EXPECT_EQ(statistics.top_k, 3);
  EXPECT_EQ(statistics.topk_index, (std::vector<std::int32_t>{0, -1, -1, 0, 1, -1, 0, 1, 2}));
  EXPECT_TRUE(std::isnan(statistics.topk_value[1]));
  EXPECT_FLOAT_EQ(statistics.topk_value[3], 0.5F);
}

TEST(Undefined, TinyWeightsAddNothingToTheEntropy) {
  Head head;
  head.rows = {{1, 0}, {1, std::numeric_limits<double>::denorm_min()}};
  EXPECT_EQ(head.row(1, RowStat::entropy), 0);
}

TEST(RowStats, LogSumExpIsPassedOn) {
  StatisticsAccumulator accumulator(
      {.n_heads = 1, .n_queries = 2, .n_keys = 1, .causal = false, .cross = true});
  const std::vector<double> rows = {1, 0}, lse = {3.5, -kInf}, norms = {1};
  accumulator.add_rows(0, 0, 2, rows.data(), 1, lse.data(), static_cast<const double*>(nullptr));
  accumulator.set_value_norm(0, norms.data());
  const AttentionStatistics statistics = accumulator.finish();
  EXPECT_EQ(statistics.row_stats[static_cast<std::size_t>(RowStat::lse)], 3.5F);
  EXPECT_EQ(statistics.row_stats[kRowStatCount + static_cast<std::size_t>(RowStat::lse)], -kInf);
}

TEST(Names, AreThoseOfTheFileFormat) {
  EXPECT_EQ(head_stat_name(HeadStat::entropy), "entropy");
  EXPECT_EQ(head_stat_name(HeadStat::norm_weighted), "norm_weighted");
  EXPECT_EQ(head_stat_name(HeadStat::entropy_norm), "entropy_norm");
  EXPECT_EQ(head_stat_name(HeadStat::induction), "induction");
  EXPECT_EQ(row_stat_name(RowStat::lse), "lse");
  EXPECT_EQ(row_stat_name(RowStat::learned_sink), "learned_sink");
}

TEST(Misuse, IsAnInternalError) {
  const std::vector<std::int64_t> ids = {1, 2};
  EXPECT_THROW(StatisticsAccumulator({.n_heads = 0, .n_queries = 2, .n_keys = 2, .ids = ids}),
               Error);
  EXPECT_THROW(StatisticsAccumulator({.n_heads = 1, .n_queries = 2, .n_keys = 3, .ids = ids}),
               Error);
  StatisticsAccumulator accumulator({.n_heads = 1, .n_queries = 2, .n_keys = 2, .ids = ids});
  const std::vector<float> rows = {1, 0, .5, .5}, lse = {0, 0};
  const float* const no_sink = nullptr;
  EXPECT_THROW(accumulator.add_rows(0, 1, 1, rows.data(), 2, lse.data(), no_sink), Error);
  EXPECT_THROW(accumulator.add_rows(1, 0, 1, rows.data(), 2, lse.data(), no_sink), Error);
  EXPECT_THROW(accumulator.add_rows(0, 0, 3, rows.data(), 2, lse.data(), no_sink), Error);
  accumulator.add_rows(0, 0, 1, rows.data(), 2, lse.data(), no_sink);
  accumulator.set_value_norm(0, rows.data());
  EXPECT_THROW(accumulator.finish(), Error);
}

}  // namespace
}  // namespace attnscope::testing
