#include "row_means.h"

#include <algorithm>
#include <cmath>

namespace attnscope {

void RowMeans::count(HeadStat stat, double value) {
  sums_[static_cast<std::size_t>(stat)] += value;
  ++counts_[static_cast<std::size_t>(stat)];
}

void RowMeans::add(const StatisticsShape& shape, const RowMasses& row, float* row_stats) {
  const auto set = [row_stats](RowStat stat, double value) {
    row_stats[static_cast<int>(stat)] = static_cast<float>(value);
  };
  row_stats[static_cast<int>(RowStat::lse)] = row.lse;
  if (row.square == 0) return;

  const double max = std::isnan(row.square) ? row.square : row.max;
  set(RowStat::entropy, row.entropy);
  set(RowStat::max, max);
  set(RowStat::sink, row.first);
  set(RowStat::distance, row.distance);
  set(RowStat::learned_sink, row.sink_mass);

  count(HeadStat::entropy, row.entropy);
  count(HeadStat::max, max);
  count(HeadStat::distance, row.distance);
  count(HeadStat::effective_keys, 1 / row.square);
  count(HeadStat::learned_sink, row.sink_mass);
  if (row.query >= 1) {
    const int outcomes = row.visible + (row.sink_mass > 0 ? 1 : 0);
    if (outcomes > 1) count(HeadStat::entropy_norm, row.entropy / std::log(outcomes));
    count(HeadStat::sink, row.first);
  }
  if (shape.cross) return;
  count(HeadStat::self, row.self);
  if (row.query >= 1) count(HeadStat::previous, row.previous);
  if (!shape.causal && row.query + 1 < shape.n_queries) count(HeadStat::next, row.next);
  if (row.duplicate) count(HeadStat::duplicate, *row.duplicate);
  if (row.induction) count(HeadStat::induction, *row.induction);
}

void RowMeans::set_norm_weighted(double sum) {
  const auto norm_weighted = static_cast<std::size_t>(HeadStat::norm_weighted);
  sums_[norm_weighted] = sum;
  counts_[norm_weighted] = counts_[static_cast<std::size_t>(HeadStat::entropy)];
}

void RowMeans::finish(float* head_stats) const {
  for (std::size_t s = 0; s < sums_.size(); ++s) {
    if (counts_[s] == 0) continue;
    head_stats[s] = static_cast<float>(sums_[s] / static_cast<double>(counts_[s]));
  }
}

std::uint8_t overview_byte(float largest) {
  if (!(largest > 0)) return 0;
  return static_cast<std::uint8_t>(255.0 * std::sqrt(std::min(largest, 1.0F)) + 0.5);
}

}  // namespace attnscope
