#include "attnscope/kernels/attention_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "head_statistics.h"
#include "row_kernels.h"

namespace attnscope {
namespace {

constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();

constexpr std::array<std::string_view, kHeadStatCount> kHeadStatNames = {
    "entropy",       "max",          "self",         "distance", "effective_keys",
    "norm_weighted", "learned_sink", "entropy_norm", "sink",     "previous",
    "next",          "duplicate",    "induction"};
constexpr std::array<std::string_view, kRowStatCount> kRowStatNames = {
    "entropy", "max", "lse", "sink", "distance", "learned_sink"};

// The visible keys, or all that are given when an intervention put mass outside the mask.
template <typename T>
Interval keys_with_mass(const T* row, Interval visible, int n_given) {
  const Interval inside = {std::min(visible.begin, n_given), std::min(visible.end, n_given)};
  const bool outside = row_kernels::any_nonzero(row, inside.begin) ||
                       row_kernels::any_nonzero(row + inside.end, n_given - inside.end);
  return outside ? Interval{0, n_given} : inside;
}

void check_shape(const StatisticsShape& shape) {
  if (shape.n_heads < 1 || shape.n_queries < 1 || shape.n_keys < 1 || shape.top_k < 1) {
    statistics_misuse("the sizes of a map", "heads, queries, keys and top-k of at least 1",
                      std::to_string(shape.n_heads) + ", " + std::to_string(shape.n_queries) +
                          ", " + std::to_string(shape.n_keys) + ", " + std::to_string(shape.top_k));
  }
  if (shape.cross) return;
  if (shape.n_queries != shape.n_keys ||
      shape.ids.size() != static_cast<std::size_t>(shape.n_keys)) {
    statistics_misuse(
        "self-attention has a key and an id for each query", std::to_string(shape.n_queries),
        std::to_string(shape.n_keys) + " keys and " + std::to_string(shape.ids.size()) + " ids");
  }
}

StatisticsLayer make_layer(const StatisticsShape& shape) {
  check_shape(shape);
  StatisticsLayer layer;
  layer.shape = shape;
  layer.shape.ids = {};
  layer.top_k = std::min(shape.top_k, shape.n_keys);
  layer.overview_rows = std::min(kOverviewSide, shape.n_queries);
  layer.overview_cols = std::min(kOverviewSide, shape.n_keys);
  if (!shape.cross) layer.previous_same = previous_same_ids(shape.ids);
  return layer;
}

AttentionStatistics empty_results(const StatisticsLayer& layer) {
  AttentionStatistics results;
  results.n_heads = layer.shape.n_heads;
  results.n_queries = layer.shape.n_queries;
  results.n_keys = layer.shape.n_keys;
  results.top_k = layer.top_k;
  results.overview_rows = layer.overview_rows;
  results.overview_cols = layer.overview_cols;

  const auto heads = static_cast<std::size_t>(results.n_heads);
  const auto rows = heads * static_cast<std::size_t>(results.n_queries);
  const auto columns = heads * static_cast<std::size_t>(results.n_keys);
  const auto cells = static_cast<std::size_t>(results.overview_rows * results.overview_cols);
  results.head_stats.assign(heads * kHeadStatCount, kNanF);
  results.row_stats.assign(rows * kRowStatCount, kNanF);
  results.topk_index.assign(rows * static_cast<std::size_t>(results.top_k), -1);
  results.topk_value.assign(rows * static_cast<std::size_t>(results.top_k), kNanF);
  results.key_sum.assign(columns, 0);
  results.value_norm.assign(columns, kNanF);
  results.overview.assign(heads * cells, 0);
  return results;
}

HeadResults results_of(AttentionStatistics& all, int head) {
  const auto h = static_cast<std::size_t>(head);
  const auto queries = static_cast<std::size_t>(all.n_queries);
  const auto keys = static_cast<std::size_t>(all.n_keys);
  const auto top_k = static_cast<std::size_t>(all.top_k);
  return {.head_stats = &all.head_stats[h * kHeadStatCount],
          .row_stats = &all.row_stats[h * queries * kRowStatCount],
          .topk_index = &all.topk_index[h * queries * top_k],
          .topk_value = &all.topk_value[h * queries * top_k],
          .key_sum = &all.key_sum[h * keys],
          .value_norm = &all.value_norm[h * keys],
          .overview = &all.overview[h * static_cast<std::size_t>(all.overview_rows) *
                                    static_cast<std::size_t>(all.overview_cols)]};
}

}  // namespace

std::vector<std::int32_t> previous_same_ids(std::span<const std::int64_t> ids) {
  std::vector<std::int32_t> previous(ids.size(), -1);
  std::unordered_map<std::int64_t, std::int32_t> last;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto here = static_cast<std::int32_t>(i);
    const auto [entry, is_new] = last.try_emplace(ids[i], here);
    if (!is_new) previous[i] = std::exchange(entry->second, here);
  }
  return previous;
}

std::string_view head_stat_name(HeadStat stat) {
  return kHeadStatNames[static_cast<std::size_t>(stat)];
}

std::string_view row_stat_name(RowStat stat) {
  return kRowStatNames[static_cast<std::size_t>(stat)];
}

StatisticsAccumulator::Heads::Heads(const StatisticsShape& shape)
    : layer(make_layer(shape)), results(empty_results(layer)) {
  heads.reserve(static_cast<std::size_t>(shape.n_heads));
  for (int h = 0; h < shape.n_heads; ++h) heads.emplace_back(layer, results_of(results, h));
}

HeadStatistics& StatisticsAccumulator::Heads::head(int index) {
  if (index < 0 || index >= layer.shape.n_heads) {
    statistics_misuse("a head of a map", "0 to " + std::to_string(layer.shape.n_heads - 1),
                      std::to_string(index));
  }
  return heads[static_cast<std::size_t>(index)];
}

StatisticsAccumulator::StatisticsAccumulator(const StatisticsShape& shape)
    : heads_(std::make_unique<Heads>(shape)) {}
StatisticsAccumulator::~StatisticsAccumulator() = default;
StatisticsAccumulator::StatisticsAccumulator(StatisticsAccumulator&&) noexcept = default;
StatisticsAccumulator& StatisticsAccumulator::operator=(StatisticsAccumulator&&) noexcept = default;

template <typename T>
void StatisticsAccumulator::add_rows(int head, int q_begin, int n_rows, const T* rows,
                                     std::int64_t row_stride, const T* lse, const T* sink_mass,
                                     int n_columns) {
  const StatisticsLayer& layer = heads_->layer;
  const int n_given = n_columns < 0 ? layer.shape.n_keys : n_columns;
  if (n_given > layer.shape.n_keys) {
    statistics_misuse("rows of head " + std::to_string(head),
                      "at most " + std::to_string(layer.shape.n_keys) + " keys",
                      std::to_string(n_given));
  }
  HeadStatistics& statistics = heads_->head(head);
  statistics.expect(head, q_begin, n_rows);
  TopKeysScratch<T> scratch(layer.shape.n_keys);
  for (int r = 0; r < n_rows; ++r) {
    PatternRow<T> row;
    row.query = q_begin + r;
    row.values = rows + r * row_stride;
    row.visible = layer.visible_keys(row.query);
    row.keys = keys_with_mass(row.values, row.visible, n_given);
    row.lse = lse[r];
    row.sink_mass = sink_mass != nullptr ? static_cast<double>(sink_mass[r]) : 0.0;
    const row_kernels::Moments moments = row_kernels::moments(
        row.values + row.keys.begin, row.keys.size(), row.query, row.keys.begin);
    // A learned sink is one more outcome of the row's distribution, but no key.
    row.entropy = moments.entropy;
    if (row.sink_mass > 0) row.entropy -= row.sink_mass * std::log(row.sink_mass);
    row.square = moments.square + row.sink_mass * row.sink_mass;
    row.distance = moments.distance;
    statistics.add(std::span<const PatternRow<T>>(&row, 1), scratch);
  }
}

template <typename T>
void StatisticsAccumulator::set_value_norm(int head, const T* norms) {
  heads_->head(head).set_value_norm(norms);
}

AttentionStatistics StatisticsAccumulator::finish() {
  for (int head = 0; head < heads_->layer.shape.n_heads; ++head) heads_->head(head).finish(head);
  return std::exchange(heads_->results, {});
}

template void StatisticsAccumulator::add_rows(int, int, int, const float*, std::int64_t,
                                              const float*, const float*, int);
template void StatisticsAccumulator::add_rows(int, int, int, const double*, std::int64_t,
                                              const double*, const double*, int);
template void StatisticsAccumulator::set_value_norm(int, const float*);
template void StatisticsAccumulator::set_value_norm(int, const double*);

}  // namespace attnscope
