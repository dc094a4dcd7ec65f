#include "attnscope/kernels/cuda_finish.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/support/error.h"
#include "row_means.h"

namespace attnscope {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double key_sum_of(std::uint64_t units) {
  if ((units & kCudaKeySumNan) != 0) return static_cast<double>(kNan);
  return static_cast<double>(units) * kCudaKeySumUnit;
}

// Turns the arrays of one pass into statistics, head by head.
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
      RowMeans means;
      for (int query = 0; query < shape_.n_queries; ++query) add_row(head, query, means);
      means.set_norm_weighted(add_keys(head));
      means.finish(&out_.head_stats[index(head, kHeadStatCount)]);
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

  int visible_count(int query) const {
    if (shape_.cross || !shape_.causal) return shape_.n_keys;
    return shape_.window > 0 ? std::min(shape_.window, query + 1) : query + 1;
  }

  void add_row(int head, int query, RowMeans& means);
  double add_keys(int head);

  const StatisticsShape& shape_;
  const CudaStatisticsArrays& arrays_;
  int top_k_;
  std::vector<std::int32_t> previous_same_;  // [k]
  std::vector<std::uint8_t> has_induction_;  // [k]
  AttentionStatistics out_;
};

void Finish::add_row(int head, int query, RowMeans& means) {
  const auto sum = [&](CudaRowSum which) { return sum_of(which, head, query); };
  const std::size_t row = index(head, shape_.n_queries, query);
  const std::size_t top = row * static_cast<std::size_t>(top_k_);
  RowMasses masses;
  masses.query = query;
  masses.visible = visible_count(query);
  masses.lse = arrays_.lse[row];
  masses.entropy = sum(CudaRowSum::entropy);
  masses.square = sum(CudaRowSum::square);
  masses.max = out_.topk_index[top] < 0 ? 0 : static_cast<double>(out_.topk_value[top]);
  masses.distance = sum(CudaRowSum::distance);
  masses.sink_mass = sum(CudaRowSum::learned_sink);
  masses.first = sum(CudaRowSum::first);
  if (!shape_.cross) {
    masses.self = sum(CudaRowSum::self);
    masses.previous = sum(CudaRowSum::previous);
    masses.next = sum(CudaRowSum::next);
    const auto i = static_cast<std::size_t>(query);
    if (previous_same_[i] >= 0) masses.duplicate = sum(CudaRowSum::duplicate);
    if (has_induction_[i] != 0) masses.induction = sum(CudaRowSum::induction);
  }
  means.add(shape_, masses, &out_.row_stats[row * kRowStatCount]);
}

// Key sums; returns Σ_i Σ_j ‖α_ij f(x_j)‖ = Σ_j (Σ_i α_ij) ‖f(x_j)‖, since α ≥ 0.
double Finish::add_keys(int head) {
  double norm_weighted = 0;
  for (int key = 0; key < shape_.n_keys; ++key) {
    const std::size_t i = index(head, shape_.n_keys, key);
    const double sum = key_sum_of(arrays_.sums.key_sum[i]);
    out_.key_sum[i] = static_cast<float>(sum);
    norm_weighted += sum * static_cast<double>(arrays_.value_norm[i]);
  }
  return norm_weighted;
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

AttentionStatistics finish_cuda_statistics(const StatisticsShape& shape,
                                           const CudaStatisticsArrays& arrays) {
  check(shape);
  return Finish(shape, arrays).run();
}

}  // namespace attnscope
