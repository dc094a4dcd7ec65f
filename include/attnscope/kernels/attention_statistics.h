// File: attention_statistics.h
// Exact statistics of attention patterns, accumulated row by row, so that no [h q k] array is
// ever needed. Definitions: README.md of this folder in src/, with the set of rows of each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace attnscope {

// Head statistics, in the order they are stored; each is a mean over a stated set of rows, NaN
// where that set is empty.
enum class HeadStat : std::uint8_t {
  entropy,         // −Σ α ln α, nats; all rows
  max,             // all rows
  self,            // α[i,i]; all rows
  distance,        // Σ α |i − j|; all rows
  effective_keys,  // 1 / Σ α²; all rows
  norm_weighted,   // Σ_j ‖α f(x_j)‖ (Kobayashi et al. 2020); all rows
  learned_sink,    // mass on the learned sink logit, 0 without one; all rows
  entropy_norm,    // entropy ÷ ln(visible keys); rows ≥ 1 that see more than one key
  sink,            // α[i,0]; rows ≥ 1
  previous,        // α[i,i−1]; rows ≥ 1
  next,            // α[i,i+1]; rows ≤ T−2, NaN if causal
  duplicate,       // mass on j < i with id[j] = id[i]; rows that have such a j
  induction,       // mass on 1 ≤ j < i with id[j−1] = id[i]; rows that have such a j
};
inline constexpr int kHeadStatCount = static_cast<int>(HeadStat::induction) + 1;
std::string_view head_stat_name(HeadStat stat);

enum class RowStat : std::uint8_t { entropy, max, lse, sink, distance, learned_sink };
inline constexpr int kRowStatCount = static_cast<int>(RowStat::learned_sink) + 1;
std::string_view row_stat_name(RowStat stat);

// Side of the max-pooled overview of a map.
inline constexpr int kOverviewSide = 64;

// What the statistics are about: one layer of one prompt.
struct StatisticsShape {
  int n_heads = 0;    // H
  int n_queries = 0;  // Tq, real tokens only
  int n_keys = 0;     // Tk; equal to Tq unless `cross`
  int top_k = 8;      // K = min(top_k, Tk)
  bool causal = true;
  bool cross = false;  // keys are other tokens than queries: self, previous, next and ids are NaN
  std::span<const std::int64_t> ids;  // [Tk], read by the constructor only; unused if `cross`
  int window = 0;                     // causal: keys that a query sees, its own included; 0 = all
};

// previous[i] = the last j < i with ids[j] = ids[i], −1 if none.
std::vector<std::int32_t> previous_same_ids(std::span<const std::int64_t> ids);

// All arrays are row-major; NaN where a value is undefined, top-k index −1 where a row has fewer
// keys.
struct AttentionStatistics {
  int n_heads = 0, n_queries = 0, n_keys = 0, top_k = 0;
  int overview_rows = 0, overview_cols = 0;  // A = min(64, Tq), B = min(64, Tk)
  std::vector<float> head_stats;             // [h s]
  std::vector<float> row_stats;              // [h q r]
  std::vector<std::int32_t> topk_index;      // [h q K], ties by the lower index
  std::vector<float> topk_value;             // [h q K]
  std::vector<float> key_sum;                // [h k]
  std::vector<float> value_norm;             // [h k] ‖f(x_j)‖
  std::vector<std::uint8_t> overview;        // [h a b] round(255·√max)
};

// Takes finished pattern rows (or those of TiledAttention) in any order of heads and in ascending
// order of queries per head. Not safe for concurrent use on one head; different heads may be fed
// from different threads. A row without any mass (every key masked, no learned sink) has no
// distribution: its row statistics are NaN (lse as given) and it is left out of every mean.
class StatisticsAccumulator {
 public:
  explicit StatisticsAccumulator(const StatisticsShape& shape);
  ~StatisticsAccumulator();
  StatisticsAccumulator(StatisticsAccumulator&&) noexcept;
  StatisticsAccumulator& operator=(StatisticsAccumulator&&) noexcept;

  // `rows` points to n_rows × row_stride values, row r is query q_begin + r, keys 0 … n_columns−1
  // (−1: all Tk); keys that are not given are zeros. Work stops at the last visible key of each
  // row, unless a changed pattern has mass beyond it.
  // `lse` [n_rows]: log-sum-exp of the scores. `sink_mass` [n_rows]: null or zeros without a sink.
  // Instantiated for float and double.
  template <typename T>
  void add_rows(int head, int q_begin, int n_rows, const T* rows, std::int64_t row_stride,
                const T* lse, const T* sink_mass, int n_columns = -1);

  // ‖f(x_j)‖ of one head, [k]; must be set before finish().
  template <typename T>
  void set_value_norm(int head, const T* norms);

  // Throws (internal) when rows or norms of a head are missing. The accumulator is empty after it.
  AttentionStatistics finish();

 private:
  template <typename T>
  friend class TiledAttention;  // adds rows of which it knows the sums
  struct Heads;
  std::unique_ptr<Heads> heads_;
};

}  // namespace attnscope
