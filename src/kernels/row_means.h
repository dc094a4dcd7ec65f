// File: row_means.h
// From what is known of each row of a head to its row statistics and the means over rows: the one
// place where the sets of rows are code. Rows come from finished maps, from tiles and from a
// device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "attnscope/kernels/attention_statistics.h"

namespace attnscope {

// The masses of one row of a pattern; α of keys that do not exist is 0.
struct RowMasses {
  int query = 0;
  int visible = 0;       // keys that the mask allows
  float lse = 0;         // log-sum-exp of the scores
  double entropy = 0;    // −Σ α ln α, the learned sink's share in it, as in square
  double square = 0;     // Σ α²; 0: a row without any mass
  double max = 0;        // largest α of a key
  double distance = 0;   // Σ α |query − key|
  double sink_mass = 0;  // on the learned sink, 0 without one
  double first = 0;      // α[i,0]
  // Not in cross-attention:
  double self = 0, previous = 0, next = 0;  // α[i,i], α[i,i−1], α[i,i+1]
  std::optional<double> duplicate;          // of rows that have such a key
  std::optional<double> induction;
};

class RowMeans {
 public:
  // `row_stats` [r], filled with NaN before.
  void add(const StatisticsShape& shape, const RowMasses& row, float* row_stats);
  // Σ_j (Σ_i α_ij) ‖f(x_j)‖, once all rows are added.
  void set_norm_weighted(double sum);
  // `head_stats` [s]; statistics without a row stay as they are.
  void finish(float* head_stats) const;

 private:
  void count(HeadStat stat, double value);

  std::array<double, kHeadStatCount> sums_ = {};
  std::array<std::int64_t, kHeadStatCount> counts_ = {};  // rows in each sum
};

// A cell of the overview: round(255·√largest).
std::uint8_t overview_byte(float largest);

}  // namespace attnscope
