// File: head_statistics.h
// The statistics of one head, row by row, from finished maps and from tiles of scores, which both
// know the sums over a row already.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnscope/kernels/attention_statistics.h"
#include "row_kernels.h"
#include "row_means.h"
#include "top_keys.h"

namespace attnscope {

// Keys (or queries) begin … end − 1.
struct Interval {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
  bool contains(int i) const { return begin <= i && i < end; }
};

[[noreturn]] void statistics_misuse(std::string what, std::string expected, std::string got);

// What the heads of a layer have in common.
struct StatisticsLayer {
  StatisticsShape shape;  // without the ids
  int top_k = 0;
  int overview_rows = 0;
  int overview_cols = 0;
  std::vector<int> previous_same;  // [k] last earlier position with the same id, −1 if none

  Interval visible_keys(int query) const;
};

// Where the results of one head go; see AttentionStatistics.
struct HeadResults {
  float* head_stats = nullptr;         // [s]
  float* row_stats = nullptr;          // [q r]
  std::int32_t* topk_index = nullptr;  // [q K]
  float* topk_value = nullptr;         // [q K]
  float* key_sum = nullptr;            // [k]
  float* value_norm = nullptr;         // [k]
  std::uint8_t* overview = nullptr;    // [a b]
};

// One row of a pattern, α_j = factor·values[j − first_key], and the sums over all its outcomes: the
// visible keys and, where there is one, the learned sink.
template <typename T>
struct PatternRow {
  int query = 0;
  const T* values = nullptr;
  int first_key = 0;
  T factor = 1;
  Interval visible;      // what the mask allows
  Interval keys;         // where the mass can be; every other key is 0
  T lse = 0;             // of the scores
  double entropy = 0;    // −Σ α ln α
  double square = 0;     // Σ α²; 0 if the row has no mass at all
  double distance = 0;   // Σ α |query − key|
  double sink_mass = 0;  // on the learned sink, 0 without one

  T alpha(int key) const { return factor * values[key - first_key]; }
  double at(int key) const { return keys.contains(key) ? static_cast<double>(alpha(key)) : 0.0; }
};

// Heads of one layer are fed from different threads, so they share no cache line.
class alignas(64) HeadStatistics {
 public:
  HeadStatistics(const StatisticsLayer& layer, const HeadResults& results);

  // Throws (internal) unless these are the queries that come next.
  void expect(int head, int q_begin, int n_rows) const;

  // Rows of consecutive queries with the same first_key; each has readable zeros where another one
  // has mass.
  template <typename T>
  void add(std::span<const PatternRow<T>> rows, TopKeysScratch<T>& scratch);

  template <typename T>
  void set_value_norm(const T* norms);

  // Throws (internal) when rows or norms are missing.
  void finish(int head);

 private:
  template <typename T>
  void add_to_columns(std::span<const PatternRow<T>> rows);
  template <typename T>
  void count_row(const PatternRow<T>& row, TopKeysScratch<T>& scratch);
  template <typename T>
  void add_id_masses(const PatternRow<T>& row, RowMasses& masses) const;
  template <typename T>
  double add_top_keys(const PatternRow<T>& row, TopKeysScratch<T>& scratch);
  int overview_end() const;
  void finish_overview_row();
  double norm_weighted_sum() const;

  const StatisticsLayer& layer_;
  HeadResults results_;
  RowMeans means_;
  std::vector<double> key_sums_;  // [k]
  std::vector<float> cell_max_;   // [k] largest α in the overview row that is being filled
  int overview_row_ = 0;          // that row
  int overview_keys_ = 0;         // keys from here on are 0 in it
  int next_query_ = 0;
  bool has_norms_ = false;
};

// The heads of one layer and their results.
struct StatisticsAccumulator::Heads {
  explicit Heads(const StatisticsShape& shape);
  HeadStatistics& head(int index);

  StatisticsLayer layer;
  AttentionStatistics results;
  std::vector<HeadStatistics> heads;
};

}  // namespace attnscope
