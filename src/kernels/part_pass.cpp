#include "part_pass.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "row_kernels.h"
#include "tile_rows.h"

namespace attnscope {
namespace {

// Calls function(keys of the panel that lie in `keys`, first key of the panel).
template <typename Function>
void for_each_panel(Interval keys, Function&& function) {
  for (int begin = keys.begin; begin < keys.end;) {
    const int panel = begin / kPanelKeys * kPanelKeys;
    const int end = std::min(keys.end, panel + kPanelKeys);
    function(Interval{begin, end}, panel);
    begin = end;
  }
}

}  // namespace

template <typename T>
Interval TiledLayer<T>::visible_keys(int query) const {
  const int position = input.first_query + query;
  const bool causal = input.spec->mask == MaskKind::causal;
  const int window = input.spec->window;
  const int end = causal ? std::min(position + 1, input.n_keys) : input.n_keys;
  const int begin = window > 0 ? std::max(0, position - window + 1) : 0;
  return {std::min(begin, end), end};
}

template <typename T>
T* TiledLayer<T>::panels(int kv_head) const {
  const std::int64_t n_panels = (input.n_keys + kPanelKeys - 1) / kPanelKeys;
  return keys.data() + kv_head * n_panels * kPanelKeys * input.spec->d_head;
}

template <typename T>
void TiledLayer<T>::transpose_keys(int kv_head) {
  constexpr int kBlock = 16;  // keys that are read side by side
  const int d = input.spec->d_head;
  const T scale = static_cast<T>(input.spec->scale);
  for (int begin = 0; begin < input.n_keys; begin += kBlock) {
    const int panel = begin / kPanelKeys * kPanelKeys;
    const int n = std::min(kBlock, input.n_keys - begin);
    const T* const first = input.k.at(begin, kv_head);
    T* const columns = panels(kv_head) + static_cast<std::int64_t>(panel) * d + (begin - panel);
    for (int i = 0; i < d; ++i) {
      for (int j = 0; j < n; ++j) {
        columns[i * kPanelKeys + j] = scale * first[j * input.k.position_stride + i];
      }
    }
  }
}

template <typename T>
void TiledLayer<T>::transpose_shaw_keys() {
  const int d = input.spec->d_head;
  const int width = shaw_width();
  const T scale = static_cast<T>(input.spec->scale);
  T* const table = shaw_keys.at_least(static_cast<std::int64_t>(width) * d);
  for (int r = 0; r < width; ++r) {
    for (int i = 0; i < d; ++i) table[i * width + r] = scale * input.shaw.key[r * d + i];
  }
}

template <typename T>
void TiledLayer<T>::fill_distances() {
  T* const out = distances.at_least(static_cast<std::int64_t>(input.n_queries) + input.n_keys);
  for (int i = -input.n_queries; i < input.n_keys; ++i) {
    out[input.n_queries + i] = static_cast<T>(std::abs(i));
  }
}

template <typename T>
PartPass<T>::PartPass(const TiledLayer<T>& layer, const TiledPart<T>& part,
                      TiledBuffers<T>& buffers, HeadStatistics* statistics)
    : layer_(layer),
      in_(layer.input),
      out_(layer.output),
      part_(part),
      head_(part.head),
      kv_head_(layer.kv_head(part.head)),
      sink_(in_.sink != nullptr ? in_.sink + part.head : nullptr),
      buffers_(buffers),
      statistics_(statistics) {
  buffers_.scores.at_least(layer.tile_rows * layer.row_width);
  buffers_.shaw_scores.at_least(static_cast<std::int64_t>(layer.tile_rows) * layer.shaw_width());
}

template <typename T>
void PartPass<T>::run() {
  for (int first = part_.q_begin; first < part_.q_end; first += layer_.tile_rows) {
    const int end = std::min(first + layer_.tile_rows, part_.q_end);
    const Tile tile = {{first, end},
                       {layer_.visible_keys(first).begin, layer_.visible_keys(end - 1).end}};
    score(tile);
    weigh(tile);
    combine(tile);
  }
}

// q·k·scale; of the relative positions q·key[distance]·scale.
template <typename T>
void PartPass<T>::score(const Tile& tile) {
  MatrixTask<T> task;
  task.m = tile.queries.size();
  task.k = in_.spec->d_head;
  task.a = in_.q.at(tile.queries.begin, head_);
  task.lda = in_.q.position_stride;
  task.ldb = kPanelKeys;
  task.ldc = layer_.row_width;
  for_each_panel(tile.keys, [&](Interval keys, int panel) {
    task.n = keys.size();
    task.b = layer_.panels(kv_head_) + panel * task.k + (keys.begin - panel);
    task.c = buffers_.scores.data() + (keys.begin - tile.keys.begin);
    in_.product(task);
  });
  if (layer_.shaw_width() == 0) return;
  task.n = task.ldb = task.ldc = layer_.shaw_width();
  task.b = layer_.shaw_keys.data();
  task.c = buffers_.shaw_scores.data();
  in_.product(task);
}

// Rows of scores become rows of weights; a few rows at a time, so that what is wanted of them is
// taken while they are in the first-level cache.
template <typename T>
void PartPass<T>::weigh(const Tile& tile) {
  std::array<PatternRow<T>, row_kernels::kFoldRows> rows;
  std::size_t n_rows = 0;
  for (int query = tile.queries.begin; query < tile.queries.end; ++query) {
    PatternRow<T>& row = rows[n_rows++];
    row = weigh_row(tile, query);
    factors_[static_cast<std::size_t>(query - tile.queries.begin)] = row.factor;
    if (out_.lse != nullptr) {
      out_.lse[static_cast<std::int64_t>(head_) * in_.n_queries + query] = row.lse;
    }
    if (part_.pattern != nullptr) store_pattern(row);
    if (n_rows < rows.size() && query + 1 < tile.queries.end) continue;
    if (statistics_ != nullptr) {
      statistics_->add(std::span<const PatternRow<T>>(rows.data(), n_rows), *buffers_.top_keys);
    }
    n_rows = 0;
  }
}

template <typename T>
PatternRow<T> PartPass<T>::weigh_row(const Tile& tile, int query) const {
  T* const all = row_of(tile, query);
  PatternRow<T> row;
  row.query = query;
  row.values = all;
  row.first_key = tile.keys.begin;
  row.visible = row.keys = layer_.visible_keys(query);
  T* const first = all + (row.keys.begin - tile.keys.begin);
  std::fill(all, first, T{0});
  std::fill(first + row.keys.size(), all + tile.keys.size(), T{0});
  finish_scores(tile, query, first, row.keys);
  softmax(row, first);
  return row;
}

// In the order of AttentionSpec.
template <typename T>
void PartPass<T>::finish_scores(const Tile& tile, int query, T* scores, Interval keys) const {
  const int position = in_.first_query + query;
  if (layer_.shaw_width() > 0) add_shaw_scores(shaw_row_of(tile, query), position, scores, keys);
  if (in_.spec->softcap != 0) {
    row_kernels::soft_cap(scores, keys.size(), static_cast<T>(in_.spec->softcap));
  }
  if (in_.distance_bias != nullptr) {
    const T* const bias = in_.distance_bias + head_ * in_.bias_stride + in_.bias_zero;
    row_kernels::add(scores, keys.size(), bias + (keys.begin - position));
  }
}

// Keys further away than the table reaches share its ends.
template <typename T>
void PartPass<T>::add_shaw_scores(const T* by_distance, int position, T* scores,
                                  Interval keys) const {
  const int clip = in_.shaw.clip;
  const int near = std::clamp(position - clip, keys.begin, keys.end);
  const int far = std::clamp(position + clip + 1, keys.begin, keys.end);
  row_kernels::add_constant(scores, near - keys.begin, by_distance[0]);
  row_kernels::add(scores + (near - keys.begin), far - near,
                   by_distance + (near - position + clip));
  row_kernels::add_constant(scores + (far - keys.begin), keys.end - far, by_distance[2 * clip]);
}

// values[key] := e^(score − the row's largest), which times row.factor is the pattern.
template <typename T>
void PartPass<T>::softmax(PatternRow<T>& row, T* values) const {
  constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  const int n = row.keys.size();
  T shift = row_kernels::largest(values, n);
  if (sink_ != nullptr) shift = std::max(shift, *sink_);
  // The largest passes over NaN, and a row of nothing else is not a masked one.
  if (shift == kMinusInfinity && std::none_of(values, values + n, [](T s) { return s != s; })) {
    std::fill_n(values, n, T{0});
    row.factor = 0;
    row.lse = kMinusInfinity;
    return;
  }
  row_kernels::ExpSums sums =
      statistics_ != nullptr
          ? row_kernels::exponentials_and_sums(values, n, shift,
                                               layer_.distances_from(row.query, row.keys.begin))
          : row_kernels::exponentials(values, n, shift);
  double sink_weight = 0;
  if (sink_ != nullptr) {
    // One more outcome of the row, but no key.
    const double x = static_cast<double>(*sink_ - shift);
    sink_weight = std::exp(x);
    sums.sum += sink_weight;
    if (sink_weight > 0) sums.weighted += sink_weight * x;
    sums.square += sink_weight * sink_weight;
  }
  const double log_sum = std::log(sums.sum);
  row.factor = static_cast<T>(1 / sums.sum);
  row.lse = static_cast<T>(static_cast<double>(shift) + log_sum);
  row.entropy = log_sum - sums.weighted / sums.sum;
  row.square = sums.square / (sums.sum * sums.sum);
  row.distance = sums.distance / sums.sum;
  row.sink_mass = sink_weight / sums.sum;
  if (!std::isnan(sums.sum)) return;
  std::fill_n(values, n, kNan);  // hidden keys stay 0
  row.factor = 1;
}

template <typename T>
void PartPass<T>::combine(const Tile& tile) {
  MatrixTask<T> task;
  task.m = tile.queries.size();
  task.n = in_.spec->d_head;
  task.lda = layer_.row_width;
  task.ldb = in_.v.position_stride;
  task.c = out_.z.at(tile.queries.begin, head_);
  task.ldc = out_.z.position_stride;
  for_each_panel(tile.keys, [&](Interval keys, int) {
    task.k = keys.size();
    task.a = buffers_.scores.data() + (keys.begin - tile.keys.begin);
    task.b = in_.v.at(keys.begin, kv_head_);
    in_.product(task);
    task.accumulate = Accumulate::yes;
  });
  if (in_.shaw.value != nullptr && tile.keys.size() > 0) add_shaw_values(tile);
  const int d = in_.spec->d_head;
  for (int query = tile.queries.begin; query < tile.queries.end; ++query) {
    T* const z = out_.z.at(query, head_);
    const T factor = factors_[static_cast<std::size_t>(query - tile.queries.begin)];
    if (factor == 0 || tile.keys.size() == 0) {
      std::fill_n(z, d, T{0});
    } else {
      row_kernels::scale(z, d, factor, z);
    }
  }
}

// z += (weights summed by distance)·table.
template <typename T>
void PartPass<T>::add_shaw_values(const Tile& tile) const {
  const int clip = in_.shaw.clip;
  const int width = layer_.shaw_width();
  for (int query = tile.queries.begin; query < tile.queries.end; ++query) {
    const int position = in_.first_query + query;
    const T* const weights = row_of(tile, query) - tile.keys.begin;
    T* const by_distance = shaw_row_of(tile, query);
    std::fill_n(by_distance, width, T{0});
    const int near = std::clamp(position - clip + 1, tile.keys.begin, tile.keys.end);
    const int far = std::clamp(position + clip, near, tile.keys.end);
    std::copy(weights + near, weights + far, by_distance + (near - position + clip));
    by_distance[0] +=
        static_cast<T>(row_kernels::sum(weights + tile.keys.begin, near - tile.keys.begin));
    by_distance[2 * clip] += static_cast<T>(row_kernels::sum(weights + far, tile.keys.end - far));
  }
  MatrixTask<T> task;
  task.m = tile.queries.size();
  task.n = task.ldb = in_.spec->d_head;
  task.k = task.lda = width;
  task.a = buffers_.shaw_scores.data();
  task.b = in_.shaw.value;
  task.c = out_.z.at(tile.queries.begin, head_);
  task.ldc = out_.z.position_stride;
  task.accumulate = Accumulate::yes;
  in_.product(task);
}

template <typename T>
void PartPass<T>::store_pattern(const PatternRow<T>& row) const {
  T* const out = part_.pattern + (row.query - part_.q_begin) * part_.pattern_stride;
  std::fill(out, out + row.keys.begin, T{0});
  row_kernels::scale(row.values + (row.keys.begin - row.first_key), row.keys.size(), row.factor,
                     out + row.keys.begin);
  std::fill(out + row.keys.end, out + in_.n_keys, T{0});
}

template struct TiledLayer<float>;
template struct TiledLayer<double>;
template class PartPass<float>;
template class PartPass<double>;

}  // namespace attnscope
