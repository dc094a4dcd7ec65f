#include "attnscope/kernels/cuda_finish.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double key_sum_of(std::uint64_t units) {
  if ((units & kCudaKeySumNan) != 0) return static_cast<double>(kNan);
  return static_cast<double>(units) * kCudaKeySumUnit;
}

std::uint8_t overview_byte(float largest) {
  if (!(largest > 0)) return 0;
  return static_cast<std::uint8_t>(255.0 * std::sqrt(std::min(largest, 1.0F)) + 0.5);
}

// Turns the arrays of one pass into statistics, head by head. Which rows a mean is over is written
// in attention_statistics.h.
class Finish {
 public:
  Finish(const StatisticsShape& shape, const CudaStatisticsArrays& arrays)
      : shape_(shape), arrays_(arrays), top_k_(std::min(shape.top_k, shape.n_keys)) {
    if (!shape.cross) previous_same_ = previous_same_ids(shape.ids);
    find_rows_with_induction();
  }

  AttentionStatistics run() {
    allocate();
    for (int head = 0; head < shape_.n_heads; ++head) {
      sums_.assign(kHeadStatCount, 0);
      counts_.assign(kHeadStatCount, 0);
      for (int query = 0; query < shape_.n_queries; ++query) add_row(head, query);
      add_keys(head);
      for (std::size_t s = 0; s < sums_.size(); ++s) {
        if (counts_[s] == 0) continue;
        out_.head_stats[index(head, kHeadStatCount) + s] =
            static_cast<float>(sums_[s] / static_cast<double>(counts_[s]));
      }
    }
    std::transform(arrays_.sums.overview, arrays_.sums.overview + out_.overview.size(),
                   out_.overview.begin(),
                   [](std::uint32_t bits) { return overview_byte(std::bit_cast<float>(bits)); });
    return std::move(out_);
  }

 private:
  static std::size_t index(std::int64_t row, std::int64_t width, std::int64_t column = 0) {
    return static_cast<std::size_t>(row * width + column);
  }

  // A row has an induction key if some earlier key with its id is not the one right before it.
  void find_rows_with_induction() {
    has_induction_.assign(previous_same_.size(), 0);
    for (std::size_t i = 0; i < previous_same_.size(); ++i) {
      const std::int32_t last = previous_same_[i];
      if (last < 0) continue;
      const bool adjacent = static_cast<std::size_t>(last) + 1 == i;
      has_induction_[i] = !adjacent || previous_same_[static_cast<std::size_t>(last)] >= 0 ? 1 : 0;
    }
  }

  void allocate() {
    const auto heads = static_cast<std::size_t>(shape_.n_heads);
    const std::size_t rows = index(shape_.n_heads, shape_.n_queries);
    out_.n_heads = shape_.n_heads;
    out_.n_queries = shape_.n_queries;
    out_.n_keys = shape_.n_keys;
    out_.top_k = top_k_;
    out_.overview_rows = std::min(kOverviewSide, shape_.n_queries);
    out_.overview_cols = std::min(kOverviewSide, shape_.n_keys);
    out_.head_stats.assign(heads * kHeadStatCount, kNan);
    out_.row_stats.assign(rows * kRowStatCount, kNan);
    const std::size_t top_keys = rows * static_cast<std::size_t>(top_k_);
    out_.topk_index.assign(arrays_.sums.topk_index, arrays_.sums.topk_index + top_keys);
    out_.topk_value.assign(arrays_.sums.topk_value, arrays_.sums.topk_value + top_keys);
    const std::size_t keys = index(shape_.n_heads, shape_.n_keys);
    out_.key_sum.assign(keys, 0);
    out_.value_norm.assign(arrays_.value_norm, arrays_.value_norm + keys);
    out_.overview.assign(heads * index(out_.overview_rows, out_.overview_cols), 0);
  }

  double sum_of(CudaRowSum sum, int head, int query) const {
    const std::int64_t row = std::int64_t{head} * kCudaRowSumCount + static_cast<int>(sum);
    return static_cast<double>(arrays_.sums.rows[index(row, shape_.n_queries, query)]);
  }

  void count(HeadStat stat, double value) {
    sums_[static_cast<std::size_t>(stat)] += value;
    ++counts_[static_cast<std::size_t>(stat)];
  }

  int visible_count(int query) const {
    if (shape_.cross || !shape_.causal) return shape_.n_keys;
    return shape_.window > 0 ? std::min(shape_.window, query + 1) : query + 1;
  }

  void add_row(int head, int query);
  void add_positions(int head, int query);
  void add_keys(int head);

  const StatisticsShape& shape_;
  const CudaStatisticsArrays& arrays_;
  int top_k_;
  std::vector<std::int32_t> previous_same_;  // [k]
  std::vector<std::uint8_t> has_induction_;  // [k]
  AttentionStatistics out_;
  std::vector<double> sums_;  // [s] of the head under way
  std::vector<std::int64_t> counts_;
};

void Finish::add_row(int head, int query) {
  const auto sum = [&](CudaRowSum which) { return sum_of(which, head, query); };
  const std::size_t row = index(head, shape_.n_queries, query);
  float* const row_stats = &out_.row_stats[row * kRowStatCount];
  row_stats[static_cast<int>(RowStat::lse)] = arrays_.lse[row];
  const double square = sum(CudaRowSum::square);
  if (square == 0) return;

  const double entropy = sum(CudaRowSum::entropy), sink_mass = sum(CudaRowSum::learned_sink);
  const std::size_t top = row * static_cast<std::size_t>(top_k_);
  double max = out_.topk_index[top] < 0 ? 0 : static_cast<double>(out_.topk_value[top]);
  if (std::isnan(square)) max = square;
  row_stats[static_cast<int>(RowStat::entropy)] = static_cast<float>(entropy);
  row_stats[static_cast<int>(RowStat::max)] = static_cast<float>(max);
  row_stats[static_cast<int>(RowStat::sink)] = static_cast<float>(sum(CudaRowSum::first));
  row_stats[static_cast<int>(RowStat::distance)] = static_cast<float>(sum(CudaRowSum::distance));
  row_stats[static_cast<int>(RowStat::learned_sink)] = static_cast<float>(sink_mass);

  count(HeadStat::entropy, entropy);
  count(HeadStat::max, max);
  count(HeadStat::distance, sum(CudaRowSum::distance));
  count(HeadStat::effective_keys, 1 / square);
  count(HeadStat::learned_sink, sink_mass);
  if (query >= 1) {
    const int outcomes = visible_count(query) + (sink_mass > 0 ? 1 : 0);
    if (outcomes > 1) count(HeadStat::entropy_norm, entropy / std::log(outcomes));
    count(HeadStat::sink, sum(CudaRowSum::first));
  }
  if (shape_.cross) return;
  count(HeadStat::self, sum(CudaRowSum::self));
  if (query >= 1) count(HeadStat::previous, sum(CudaRowSum::previous));
  if (!shape_.causal && query + 1 < shape_.n_queries) {
    count(HeadStat::next, sum(CudaRowSum::next));
  }
  const auto i = static_cast<std::size_t>(query);
  if (previous_same_[i] >= 0) count(HeadStat::duplicate, sum(CudaRowSum::duplicate));
  if (has_induction_[i] != 0) count(HeadStat::induction, sum(CudaRowSum::induction));
}

// Key sums, and Σ_i Σ_j ‖α_ij f(x_j)‖ = Σ_j (Σ_i α_ij) ‖f(x_j)‖, since α ≥ 0.
void Finish::add_keys(int head) {
  double norm_weighted = 0;
  for (int key = 0; key < shape_.n_keys; ++key) {
    const std::size_t i = index(head, shape_.n_keys, key);
    const double sum = key_sum_of(arrays_.sums.key_sum[i]);
    out_.key_sum[i] = static_cast<float>(sum);
    norm_weighted += sum * static_cast<double>(arrays_.value_norm[i]);
  }
  sums_[static_cast<std::size_t>(HeadStat::norm_weighted)] = norm_weighted;
  counts_[static_cast<std::size_t>(HeadStat::norm_weighted)] =
      counts_[static_cast<std::size_t>(HeadStat::entropy)];
}

void check(const StatisticsShape& shape) {
  const bool sizes = shape.n_heads > 0 && shape.n_queries > 0 && shape.n_keys > 0 &&
                     shape.top_k > 0 && shape.top_k <= kCudaMaxTopK;
  const auto n_ids = static_cast<int>(shape.ids.size());
  const bool self = shape.n_queries == shape.n_keys && n_ids == shape.n_keys;
  if (sizes && (shape.cross || self)) return;
  throw Error(ErrorKind::internal, "KE10",
              {.where = "attention statistics on CUDA",
               .what = "the shape of a finished pass",
               .expected = "sizes of at least 1, and in self-attention a key and an id a query",
               .got = std::to_string(shape.n_heads) + " heads, " + std::to_string(shape.n_queries) +
                      " queries, " + std::to_string(shape.n_keys) + " keys, " +
                      std::to_string(n_ids) + " ids, top " + std::to_string(shape.top_k)});
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

AttentionStatistics finish_cuda_statistics(const StatisticsShape& shape,
                                           const CudaStatisticsArrays& arrays) {
  check(shape);
  return Finish(shape, arrays).run();
}

}  // namespace attnscope
