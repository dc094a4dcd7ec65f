// File: brute_force.h
// Attention statistics straight from their definitions, over a whole map in double. Slow, and on
// purpose unlike the accumulator: one statistic after the other, sets of rows built by search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/kernels/attention_statistics.h"

namespace attnscope::testing {

// One layer's attention of one prompt.
struct Map {
  StatisticsShape shape;
  std::vector<std::int64_t> ids;
  std::vector<double> pattern;  // [h q k]
  std::vector<double> lse;      // [h q]
  std::vector<double> sink;     // [h q], empty without a learned sink
  std::vector<double> norms;    // [h k]

  double alpha(int h, int i, int j) const;
  bool visible(int i, int j) const;
};

// Softmax of seeded normal scores under the shape's mask; ids from `n_ids` different ones.
struct RandomMap {
  int n_heads = 2;
  int n_queries = 7;
  int n_keys = 7;
  bool causal = true;
  bool cross = false;
  bool learned_sink = false;
  int window = 0;
  int top_k = 8;
  int n_ids = 4;
  unsigned seed = 1;
};
Map random_map(const RandomMap& options);

// What finish() must give, in double: [h s], [h q r], [h q K], [h k], [h a b].
struct BruteForce {
  std::vector<double> head_stats, row_stats, topk_value, key_sum;
  std::vector<std::int32_t> topk_index;
  std::vector<double> overview;  // 255·√max, not rounded
};
BruteForce brute_force(const Map& map);

// Feeds the map in blocks of `block` rows; key columns past the last visible one of a block are
// left out when `cut_columns`.
enum class Columns { all, cut };
template <typename T>
AttentionStatistics accumulate(const Map& map, int block = 128, Columns columns = Columns::all);

}  // namespace attnscope::testing
