#include "attnscope/kernels/attention_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "attnscope/support/error.h"
#include "row_kernels.h"
#include "top_k.h"

namespace attnscope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();

constexpr std::array<std::string_view, kHeadStatCount> kHeadStatNames = {
    "entropy",       "max",          "self",         "distance", "effective_keys",
    "norm_weighted", "learned_sink", "entropy_norm", "sink",     "previous",
    "next",          "duplicate",    "induction"};
constexpr std::array<std::string_view, kRowStatCount> kRowStatNames = {
    "entropy", "max", "lse", "sink", "distance", "learned_sink"};

[[noreturn]] void misuse(std::string what, std::string expected, std::string got) {
  throw Error(ErrorKind::internal, "KE01",
              {.where = "attention statistics",
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got)});
}

// Index of [row, column] in an array of rows of `width`.
std::size_t at(std::int64_t row, std::int64_t width, std::int64_t column) {
  return static_cast<std::size_t>(row * width + column);
}

// Keys or queries begin … end − 1.
struct Range {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
  bool contains(int i) const { return begin <= i && i < end; }
};

// What cell `cell` of `cells` covers. Neighbours share one row or key where `length` is no multiple
// of the number of cells.
Range cell_range(int cell, int cells, int length) {
  const std::int64_t n = length;
  return {static_cast<int>(cell * n / cells),
          static_cast<int>(((cell + 1) * n + cells - 1) / cells)};
}

Range visible_keys(const StatisticsShape& shape, int query) {
  if (shape.cross || !shape.causal) return {0, shape.n_keys};
  return {shape.window > 0 ? std::max(0, query + 1 - shape.window) : 0, query + 1};
}

// The visible keys, or all that are given when an intervention put mass outside the mask.
template <typename T>
Range keys_with_mass(const T* row, Range visible, int n_given) {
  const Range inside = {std::min(visible.begin, n_given), std::min(visible.end, n_given)};
  const bool outside = row_kernels::any_nonzero(row, inside.begin) ||
                       row_kernels::any_nonzero(row + inside.end, n_given - inside.end);
  return outside ? Range{0, n_given} : inside;
}

// previous[i] = the last j < i with ids[j] = ids[i], −1 if none: a chain through all of them.
std::vector<int> chain_equal_ids(std::span<const std::int64_t> ids) {
  std::vector<int> previous(ids.size(), -1);
  std::unordered_map<std::int64_t, int> last;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto [entry, is_new] = last.try_emplace(ids[i], static_cast<int>(i));
    if (!is_new) previous[i] = std::exchange(entry->second, static_cast<int>(i));
  }
  return previous;
}

std::uint8_t overview_byte(float largest) {
  if (!(largest > 0)) return 0;
  return static_cast<std::uint8_t>(255.0 * std::sqrt(std::min(largest, 1.0F)) + 0.5);
}

// What is reused from row to row.
template <typename T>
struct RowScratch {
  RowScratch(int k, int n_keys)
      : blocks(k), keys(k), maxima(static_cast<std::size_t>(n_keys / row_kernels::kBlock + 1)) {}
  TopK<T> blocks;
  TopK<T> keys;
  std::vector<T> maxima;
};

void check_shape(const StatisticsShape& shape) {
  if (shape.n_heads < 1 || shape.n_queries < 1 || shape.n_keys < 1 || shape.top_k < 1) {
    misuse("the sizes of a map", "heads, queries, keys and top-k of at least 1",
           std::to_string(shape.n_heads) + ", " + std::to_string(shape.n_queries) + ", " +
               std::to_string(shape.n_keys) + ", " + std::to_string(shape.top_k));
  }
  if (shape.cross) return;
  if (shape.n_queries != shape.n_keys ||
      shape.ids.size() != static_cast<std::size_t>(shape.n_keys)) {
    misuse("self-attention has a key and an id for each query", std::to_string(shape.n_queries),
           std::to_string(shape.n_keys) + " keys and " + std::to_string(shape.ids.size()) + " ids");
  }
}

}  // namespace

std::string_view head_stat_name(HeadStat stat) {
  return kHeadStatNames[static_cast<std::size_t>(stat)];
}

std::string_view row_stat_name(RowStat stat) {
  return kRowStatNames[static_cast<std::size_t>(stat)];
}

// One row of a head's pattern. Keys that are not given are zeros.
template <typename T>
struct StatisticsAccumulator::Row {
  int head = 0;
  int query = 0;
  const T* values = nullptr;  // [n_given]
  int n_given = 0;
  T lse = 0;
  const T* sink_mass = nullptr;  // null without a learned sink
  Range visible;                 // what the mask allows
  Range keys;                    // where the mass can be
  RowScratch<T>* scratch = nullptr;

  double at(int key) const { return key < n_given ? static_cast<double>(values[key]) : 0.0; }
  const T* first() const { return values + keys.begin; }
};

StatisticsAccumulator::StatisticsAccumulator(const StatisticsShape& shape) : shape_(shape) {
  check_shape(shape);
  if (!shape.cross) previous_same_ = chain_equal_ids(shape.ids);
  shape_.ids = {};

  out_.n_heads = shape.n_heads;
  out_.n_queries = shape.n_queries;
  out_.n_keys = shape.n_keys;
  out_.top_k = std::min(shape.top_k, shape.n_keys);
  out_.overview_rows = std::min(kOverviewSide, shape.n_queries);
  out_.overview_cols = std::min(kOverviewSide, shape.n_keys);

  const auto heads = static_cast<std::size_t>(shape.n_heads);
  const auto rows = heads * static_cast<std::size_t>(shape.n_queries);
  const auto columns = heads * static_cast<std::size_t>(shape.n_keys);
  out_.head_stats.assign(heads * kHeadStatCount, kNanF);
  out_.row_stats.assign(rows * kRowStatCount, kNanF);
  out_.topk_index.assign(rows * static_cast<std::size_t>(out_.top_k), -1);
  out_.topk_value.assign(rows * static_cast<std::size_t>(out_.top_k), kNanF);
  out_.key_sum.assign(columns, 0);
  out_.value_norm.assign(columns, kNanF);
  out_.overview.assign(heads * at(out_.overview_rows, out_.overview_cols, 0), 0);

  head_sums_.assign(heads * kHeadStatCount, 0);
  head_rows_.assign(heads * kHeadStatCount, 0);
  key_sums_.assign(columns, 0);
  cell_max_.assign(columns, 0);
  next_cell_.assign(heads, 0);
  next_query_.assign(heads, 0);
  has_norms_.assign(heads, 0);
}

void StatisticsAccumulator::count(int head, HeadStat stat, double value) {
  const std::size_t slot = at(head, kHeadStatCount, static_cast<int>(stat));
  head_sums_[slot] += value;
  ++head_rows_[slot];
}

template <typename T>
void StatisticsAccumulator::add_rows(int head, int q_begin, int n_rows, const T* rows,
                                     std::int64_t row_stride, const T* lse, const T* sink_mass,
                                     int n_columns) {
  const int n_given = n_columns < 0 ? shape_.n_keys : n_columns;
  if (head < 0 || head >= shape_.n_heads || n_given > shape_.n_keys) {
    misuse("rows of head " + std::to_string(head) + " with " + std::to_string(n_given) + " keys",
           std::to_string(shape_.n_heads) + " heads, " + std::to_string(shape_.n_keys) + " keys",
           "");
  }
  int& next_query = next_query_[static_cast<std::size_t>(head)];
  if (q_begin != next_query || n_rows > shape_.n_queries - q_begin) {
    misuse("rows of head " + std::to_string(head),
           "query " + std::to_string(next_query) + " next, of " + std::to_string(shape_.n_queries),
           "queries " + std::to_string(q_begin) + " to " + std::to_string(q_begin + n_rows - 1));
  }
  RowScratch<T> scratch(out_.top_k, shape_.n_keys);
  for (int r = 0; r < n_rows; ++r) {
    Row<T> row;
    row.head = head;
    row.query = q_begin + r;
    row.values = rows + r * row_stride;
    row.n_given = n_given;
    row.lse = lse[r];
    row.sink_mass = sink_mass != nullptr ? sink_mass + r : nullptr;
    row.visible = visible_keys(shape_, row.query);
    row.keys = keys_with_mass(row.values, row.visible, n_given);
    row.scratch = &scratch;
    add_row(row);
  }
  next_query += n_rows;
}

template <typename T>
void StatisticsAccumulator::add_row(const Row<T>& row) {
  const int head = row.head;
  const int i = row.query;
  auto moments = row_kernels::moments(row.first(), row.keys.size(), i, row.keys.begin);
  row_kernels::block_maxima(row.first(), row.keys.size(), row.scratch->maxima.data());
  add_to_overview(row);
  float* const row_stats = &out_.row_stats[at(head, shape_.n_queries, i) * kRowStatCount];
  row_stats[static_cast<int>(RowStat::lse)] = static_cast<float>(row.lse);

  // A learned sink is one more outcome of the row's distribution, but no key.
  const double sink_mass = row.sink_mass != nullptr ? static_cast<double>(*row.sink_mass) : 0.0;
  if (sink_mass > 0) moments.entropy -= sink_mass * std::log(sink_mass);
  moments.square += sink_mass * sink_mass;
  if (moments.square == 0) return;

  const double largest = add_top_keys(row);
  const double max = std::isnan(moments.square) ? kNan : largest;
  row_stats[static_cast<int>(RowStat::entropy)] = static_cast<float>(moments.entropy);
  row_stats[static_cast<int>(RowStat::max)] = static_cast<float>(max);
  row_stats[static_cast<int>(RowStat::sink)] = static_cast<float>(row.at(0));
  row_stats[static_cast<int>(RowStat::distance)] = static_cast<float>(moments.distance);
  row_stats[static_cast<int>(RowStat::learned_sink)] = static_cast<float>(sink_mass);

  count(head, HeadStat::entropy, moments.entropy);
  count(head, HeadStat::max, max);
  count(head, HeadStat::distance, moments.distance);
  count(head, HeadStat::effective_keys, 1 / moments.square);
  count(head, HeadStat::learned_sink, sink_mass);
  if (i >= 1) {
    const int outcomes = row.visible.size() + (sink_mass > 0 ? 1 : 0);
    if (outcomes > 1) count(head, HeadStat::entropy_norm, moments.entropy / std::log(outcomes));
    count(head, HeadStat::sink, row.at(0));
  }
  if (shape_.cross) return;
  count(head, HeadStat::self, row.at(i));
  if (i >= 1) count(head, HeadStat::previous, row.at(i - 1));
  if (!shape_.causal && i + 1 < shape_.n_queries) count(head, HeadStat::next, row.at(i + 1));
  add_id_masses(row);
}

// Keys with the query's own token, and the keys right after one: a walk along the chain of equal
// ids, so that a row costs as much as it has matches.
template <typename T>
void StatisticsAccumulator::add_id_masses(const Row<T>& row) {
  const int i = row.query;
  double duplicate = 0, induction = 0;
  bool has_duplicate = false, has_induction = false;
  for (int j = previous_same_[static_cast<std::size_t>(i)]; j >= 0;
       j = previous_same_[static_cast<std::size_t>(j)]) {
    duplicate += row.at(j);
    has_duplicate = true;
    if (j + 1 == i) continue;
    induction += row.at(j + 1);
    has_induction = true;
  }
  if (has_duplicate) count(row.head, HeadStat::duplicate, duplicate);
  if (has_induction) count(row.head, HeadStat::induction, induction);
}

// Stores the top keys and returns the row's largest value. Only the k blocks with the largest
// maxima can hold one of the k largest values. From the last key to the first, because most heads
// look near: their values then come in falling order.
template <typename T>
double StatisticsAccumulator::add_top_keys(const Row<T>& row) {
  const T* const maxima = row.scratch->maxima.data();
  const int n_blocks = (row.keys.size() + row_kernels::kBlock - 1) / row_kernels::kBlock;
  TopK<T>& blocks = row.scratch->blocks;
  blocks.clear();
  for (int b = n_blocks - 1; b >= 0; --b) blocks.offer(maxima[b], b);

  const T least = blocks.bar();
  TopK<T>& keys = row.scratch->keys;
  keys.clear();
  for (const auto& block : blocks) {
    const int begin = row.keys.begin + block.index * row_kernels::kBlock;
    if (!keys.can_enter(block.value, begin)) continue;
    for (int j = std::min(row.keys.end, begin + row_kernels::kBlock) - 1; j >= begin; --j) {
      const T value = row.values[j];
      if (value >= least && (value != 0 || row.visible.contains(j))) keys.offer(value, j);
    }
  }
  std::size_t slot =
      at(row.head, shape_.n_queries, row.query) * static_cast<std::size_t>(out_.top_k);
  for (const auto& key : keys) {
    out_.topk_index[slot] = key.index;
    out_.topk_value[slot++] = static_cast<float>(key.value);
  }
  return blocks.size() > 0 ? static_cast<double>(blocks.begin()->value) : 0.0;
}

// Adds the row to its key sums and to the overview row that is being filled.
template <typename T>
void StatisticsAccumulator::add_to_overview(const Row<T>& row) {
  const std::size_t first = at(row.head, shape_.n_keys, row.keys.begin);
  row_kernels::fold(row.first(), row.keys.size(), &key_sums_[first], &cell_max_[first]);

  int& cell = next_cell_[static_cast<std::size_t>(row.head)];
  if (row.query + 1 < cell_range(cell, out_.overview_rows, shape_.n_queries).end) return;
  pool_overview_row(row.head, cell);
  float* const cell_max = &cell_max_[at(row.head, shape_.n_keys, 0)];
  std::fill_n(cell_max, shape_.n_keys, 0.0F);
  ++cell;
  if (cell == out_.overview_rows) return;
  if (cell_range(cell, out_.overview_rows, shape_.n_queries).contains(row.query)) {
    for (int j = row.keys.begin; j < row.keys.end; ++j) {
      cell_max[j] = std::max(0.0F, static_cast<float>(row.values[j]));
    }
  }
}

void StatisticsAccumulator::pool_overview_row(int head, int cell) {
  const float* const cell_max = &cell_max_[at(head, shape_.n_keys, 0)];
  const int columns = out_.overview_cols;
  std::uint8_t* const bytes =
      &out_.overview[(at(head, out_.overview_rows, cell)) * static_cast<std::size_t>(columns)];
  for (int c = 0; c < columns; ++c) {
    const Range keys = cell_range(c, columns, shape_.n_keys);
    bytes[c] = overview_byte(*std::max_element(cell_max + keys.begin, cell_max + keys.end));
  }
}

template <typename T>
void StatisticsAccumulator::set_value_norm(int head, const T* norms) {
  for (int j = 0; j < shape_.n_keys; ++j) {
    out_.value_norm[at(head, shape_.n_keys, j)] = static_cast<float>(norms[j]);
  }
  has_norms_[static_cast<std::size_t>(head)] = 1;
}

// Σ_i Σ_j ‖α_ij f(x_j)‖ = Σ_j (Σ_i α_ij) ‖f(x_j)‖, since α ≥ 0.
double StatisticsAccumulator::norm_weighted_sum(int head) const {
  double sum = 0;
  for (int j = 0; j < shape_.n_keys; ++j) {
    const std::size_t key = at(head, shape_.n_keys, j);
    sum += key_sums_[key] * static_cast<double>(out_.value_norm[key]);
  }
  return sum;
}

AttentionStatistics StatisticsAccumulator::finish() {
  for (int head = 0; head < shape_.n_heads; ++head) {
    const int n_done = next_query_[static_cast<std::size_t>(head)];
    if (n_done != shape_.n_queries || has_norms_[static_cast<std::size_t>(head)] == 0) {
      misuse("head " + std::to_string(head) + " is not complete",
             std::to_string(shape_.n_queries) + " rows and its value norms",
             std::to_string(n_done) + " rows");
    }
    const std::size_t norm_weighted =
        at(head, kHeadStatCount, static_cast<int>(HeadStat::norm_weighted));
    head_sums_[norm_weighted] = norm_weighted_sum(head);
    head_rows_[norm_weighted] =
        head_rows_[at(head, kHeadStatCount, static_cast<int>(HeadStat::entropy))];
  }
  for (std::size_t s = 0; s < head_sums_.size(); ++s) {
    if (head_rows_[s] == 0) continue;
    out_.head_stats[s] = static_cast<float>(head_sums_[s] / static_cast<double>(head_rows_[s]));
  }
  std::transform(key_sums_.begin(), key_sums_.end(), out_.key_sum.begin(),
                 [](double sum) { return static_cast<float>(sum); });
  return std::exchange(out_, {});
}

template void StatisticsAccumulator::add_rows(int, int, int, const float*, std::int64_t,
                                              const float*, const float*, int);
template void StatisticsAccumulator::add_rows(int, int, int, const double*, std::int64_t,
                                              const double*, const double*, int);
template void StatisticsAccumulator::set_value_norm(int, const float*);
template void StatisticsAccumulator::set_value_norm(int, const double*);

}  // namespace attnscope
