#include "head_statistics.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

// What cell `cell` of `cells` covers. Neighbours share one row or key where `length` is no multiple
// of the number of cells.
Interval cell_interval(int cell, int cells, int length) {
  const std::int64_t n = length;
  return {static_cast<int>(cell * n / cells),
          static_cast<int>(((cell + 1) * n + cells - 1) / cells)};
}

}  // namespace

void statistics_misuse(std::string what, std::string expected, std::string got) {
  throw Error(ErrorKind::internal, "KE01",
              {.where = "attention statistics",
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got)});
}

Interval StatisticsLayer::visible_keys(int query) const {
  if (shape.cross || !shape.causal) return {0, shape.n_keys};
  return {shape.window > 0 ? std::max(0, query + 1 - shape.window) : 0, query + 1};
}

HeadStatistics::HeadStatistics(const StatisticsLayer& layer, const HeadResults& results)
    : layer_(layer),
      results_(results),
      key_sums_(static_cast<std::size_t>(layer.shape.n_keys)),
      cell_max_(static_cast<std::size_t>(layer.shape.n_keys)) {}

void HeadStatistics::expect(int head, int q_begin, int n_rows) const {
  const int n_queries = layer_.shape.n_queries;
  if (q_begin == next_query_ && n_rows <= n_queries - q_begin) return;
  statistics_misuse(
      "rows of head " + std::to_string(head),
      "query " + std::to_string(next_query_) + " next, of " + std::to_string(n_queries),
      "queries " + std::to_string(q_begin) + " to " + std::to_string(q_begin + n_rows - 1));
}

template <typename T>
void HeadStatistics::add(std::span<const PatternRow<T>> rows, TopKeysScratch<T>& scratch) {
  for (std::size_t begin = 0; begin < rows.size();) {
    const std::size_t in_cell = static_cast<std::size_t>(overview_end() - next_query_);
    const std::size_t n = std::min({rows.size() - begin, in_cell, row_kernels::kFoldRows});
    add_to_columns(rows.subspan(begin, n));
    begin += n;
  }
  for (const PatternRow<T>& row : rows) count_row(row, scratch);
}

int HeadStatistics::overview_end() const {
  return cell_interval(overview_row_, layer_.overview_rows, layer_.shape.n_queries).end;
}

// Adds rows to the key sums and to the overview row that is being filled.
template <typename T>
void HeadStatistics::add_to_columns(std::span<const PatternRow<T>> rows) {
  Interval keys = rows.front().keys;
  for (const PatternRow<T>& row : rows) {
    keys = {std::min(keys.begin, row.keys.begin), std::max(keys.end, row.keys.end)};
  }
  std::array<row_kernels::ScaledRow<T>, row_kernels::kFoldRows> scaled;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    scaled[r] = {rows[r].values + (keys.begin - rows[r].first_key), rows[r].factor};
  }
  row_kernels::fold(scaled.data(), static_cast<int>(rows.size()), keys.size(),
                    &key_sums_[static_cast<std::size_t>(keys.begin)],
                    &cell_max_[static_cast<std::size_t>(keys.begin)]);
  overview_keys_ = std::max(overview_keys_, keys.end);

  next_query_ += static_cast<int>(rows.size());
  if (next_query_ < overview_end()) return;
  finish_overview_row();
  if (overview_row_ == layer_.overview_rows) return;
  const PatternRow<T>& last = rows.back();
  if (cell_interval(overview_row_, layer_.overview_rows, layer_.shape.n_queries)
          .contains(last.query)) {
    for (int j = last.keys.begin; j < last.keys.end; ++j) {
      cell_max_[static_cast<std::size_t>(j)] = std::max(0.0F, static_cast<float>(last.alpha(j)));
    }
    overview_keys_ = last.keys.end;
  }
}

void HeadStatistics::finish_overview_row() {
  const int columns = layer_.overview_cols;
  std::uint8_t* const bytes = results_.overview + overview_row_ * columns;
  for (int c = 0; c < columns; ++c) {
    const Interval keys = cell_interval(c, columns, layer_.shape.n_keys);
    if (keys.begin >= overview_keys_) break;
    bytes[c] = overview_byte(
        row_kernels::largest(&cell_max_[static_cast<std::size_t>(keys.begin)], keys.size()));
  }
  std::fill_n(cell_max_.begin(), overview_keys_, 0.0F);
  overview_keys_ = 0;
  ++overview_row_;
}

template <typename T>
void HeadStatistics::count_row(const PatternRow<T>& row, TopKeysScratch<T>& scratch) {
  const int i = row.query;
  RowMasses masses;
  masses.query = i;
  masses.visible = row.visible.size();
  masses.lse = static_cast<float>(row.lse);
  masses.entropy = row.entropy;
  masses.square = row.square;
  masses.distance = row.distance;
  masses.sink_mass = row.sink_mass;
  if (row.square != 0) {
    masses.max = add_top_keys(row, scratch);
    masses.first = row.at(0);
    if (!layer_.shape.cross) {
      masses.self = row.at(i);
      masses.previous = row.at(i - 1);
      masses.next = row.at(i + 1);
      add_id_masses(row, masses);
    }
  }
  means_.add(layer_.shape, masses,
             results_.row_stats + static_cast<std::ptrdiff_t>(i) * kRowStatCount);
}

// Keys with the query's own token, and the keys right after one: a walk along the chain of equal
// ids, so that a row costs as much as it has matches.
template <typename T>
void HeadStatistics::add_id_masses(const PatternRow<T>& row, RowMasses& masses) const {
  const int i = row.query;
  for (int j = layer_.previous_same[static_cast<std::size_t>(i)]; j >= 0;
       j = layer_.previous_same[static_cast<std::size_t>(j)]) {
    masses.duplicate = masses.duplicate.value_or(0) + row.at(j);
    if (j + 1 == i) continue;
    masses.induction = masses.induction.value_or(0) + row.at(j + 1);
  }
}

// Stores the top keys and returns the row's largest value.
template <typename T>
double HeadStatistics::add_top_keys(const PatternRow<T>& row, TopKeysScratch<T>& scratch) {
  if (row.keys.size() == 0) return 0;
  const row_kernels::ScaledRow<T> alphas = {row.values + (row.keys.begin - row.first_key),
                                            row.factor};
  // Where an intervention put mass behind the mask, zeros there do not count.
  const bool filter = row.keys.size() != row.visible.size();
  const int wanted = filter ? row.keys.size() : layer_.top_k;
  const row_kernels::TopCandidates<T> found =
      row_kernels::top_candidates(alphas, row.keys.size(), wanted, scratch.arrays());
  const auto is_hidden_zero = [&](T value, int key) {
    return value == 0 && !row.visible.contains(row.keys.begin + key);
  };
  const int n = filter ? scratch.remove(found.count, is_hidden_zero) : found.count;
  const int n_top = std::min(n, layer_.top_k);
  scratch.order_first(n_top, n);
  std::ptrdiff_t slot = static_cast<std::ptrdiff_t>(row.query) * layer_.top_k;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n_top); ++i, ++slot) {
    const auto candidate = static_cast<std::size_t>(scratch.order[i]);
    results_.topk_index[slot] = row.keys.begin + scratch.keys[candidate];
    results_.topk_value[slot] = static_cast<float>(scratch.values[candidate]);
  }
  return static_cast<double>(found.largest);
}

template <typename T>
void HeadStatistics::set_value_norm(const T* norms) {
  std::transform(norms, norms + layer_.shape.n_keys, results_.value_norm,
                 [](T norm) { return static_cast<float>(norm); });
  has_norms_ = true;
}

// Σ_i Σ_j ‖α_ij f(x_j)‖ = Σ_j (Σ_i α_ij) ‖f(x_j)‖, since α ≥ 0.
double HeadStatistics::norm_weighted_sum() const {
  double sum = 0;
  for (std::size_t j = 0; j < key_sums_.size(); ++j) {
    sum += key_sums_[j] * static_cast<double>(results_.value_norm[j]);
  }
  return sum;
}

void HeadStatistics::finish(int head) {
  if (next_query_ != layer_.shape.n_queries || !has_norms_) {
    statistics_misuse("head " + std::to_string(head) + " is not complete",
                      std::to_string(layer_.shape.n_queries) + " rows and its value norms",
                      std::to_string(next_query_) + " rows");
  }
  means_.set_norm_weighted(norm_weighted_sum());
  means_.finish(results_.head_stats);
  std::transform(key_sums_.begin(), key_sums_.end(), results_.key_sum,
                 [](double sum) { return static_cast<float>(sum); });
}

template void HeadStatistics::add(std::span<const PatternRow<float>>, TopKeysScratch<float>&);
template void HeadStatistics::add(std::span<const PatternRow<double>>, TopKeysScratch<double>&);
template void HeadStatistics::set_value_norm(const float*);
template void HeadStatistics::set_value_norm(const double*);

}  // namespace attnscope
