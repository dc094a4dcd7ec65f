#include "brute_force.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

namespace attnscope::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t index3(int a, int b, int c, int size_b, int size_c) {
  return (static_cast<std::size_t>(a) * static_cast<std::size_t>(size_b) +
          static_cast<std::size_t>(b)) *
             static_cast<std::size_t>(size_c) +
         static_cast<std::size_t>(c);
}

bool has_mass(const Map& map, int h, int i) {
  for (int j = 0; j < map.shape.n_keys; ++j) {
    if (map.alpha(h, i, j) != 0) return true;
  }
  return !map.sink.empty() && map.sink[index3(0, h, i, 0, map.shape.n_queries)] != 0;
}

double sink_mass(const Map& map, int h, int i) {
  return map.sink.empty() ? 0 : map.sink[index3(0, h, i, 0, map.shape.n_queries)];
}

double sum_keys(const Map& map, const std::function<double(int)>& term) {
  double sum = 0;
  for (int j = map.shape.n_keys - 1; j >= 0; --j) sum += term(j);
  return sum;
}

double entropy(const Map& map, int h, int i) {
  const auto term = [](double p) { return p == 0 ? 0.0 : -p * std::log(p); };
  return sum_keys(map, [&](int j) { return term(map.alpha(h, i, j)); }) +
         term(sink_mass(map, h, i));
}

double row_max(const Map& map, int h, int i) {
  double largest = -1;
  for (int j = 0; j < map.shape.n_keys; ++j) largest = std::max(largest, map.alpha(h, i, j));
  return largest;
}

double distance(const Map& map, int h, int i) {
  return sum_keys(map, [&](int j) { return map.alpha(h, i, j) * std::abs(i - j); });
}

int visible_count(const Map& map, int i) {
  int count = 0;
  for (int j = 0; j < map.shape.n_keys; ++j) count += map.visible(i, j) ? 1 : 0;
  return count;
}

bool is_duplicate(const Map& map, int i, int j) {
  return j < i && map.ids[static_cast<std::size_t>(j)] == map.ids[static_cast<std::size_t>(i)];
}

bool is_induction(const Map& map, int i, int j) {
  return 1 <= j && j < i &&
         map.ids[static_cast<std::size_t>(j) - 1] == map.ids[static_cast<std::size_t>(i)];
}

using InSet = bool (*)(const Map&, int, int);

bool any_key(const Map& map, int i, InSet in_set) {
  for (int j = 0; j < map.shape.n_keys; ++j) {
    if (in_set(map, i, j)) return true;
  }
  return false;
}

double set_mass(const Map& map, int h, int i, InSet in_set) {
  return sum_keys(map, [&](int j) { return in_set(map, i, j) ? map.alpha(h, i, j) : 0.0; });
}

// One row's value of a head statistic, NaN where the row does not belong to its set.
double row_value(const Map& map, HeadStat stat, int h, int i) {
  const bool self_attention = !map.shape.cross;
  const int last = map.shape.n_queries - 1;
  switch (stat) {
    case HeadStat::entropy:
      return entropy(map, h, i);
    case HeadStat::max:
      return row_max(map, h, i);
    case HeadStat::self:
      return self_attention ? map.alpha(h, i, i) : kNan;
    case HeadStat::distance:
      return distance(map, h, i);
    case HeadStat::effective_keys:
      return 1 / (sum_keys(map, [&](int j) { return std::pow(map.alpha(h, i, j), 2); }) +
                  std::pow(sink_mass(map, h, i), 2));
    case HeadStat::norm_weighted:
      return sum_keys(map, [&](int j) {
        return map.alpha(h, i, j) * map.norms[index3(0, h, j, 0, map.shape.n_keys)];
      });
    case HeadStat::learned_sink:
      return sink_mass(map, h, i);
    case HeadStat::entropy_norm: {
      const int outcomes = visible_count(map, i) + (map.sink.empty() ? 0 : 1);
      return i >= 1 && outcomes > 1 ? entropy(map, h, i) / std::log(outcomes) : kNan;
    }
    case HeadStat::sink:
      return i >= 1 ? map.alpha(h, i, 0) : kNan;
    case HeadStat::previous:
      return self_attention && i >= 1 ? map.alpha(h, i, i - 1) : kNan;
    case HeadStat::next:
      return self_attention && !map.shape.causal && i < last ? map.alpha(h, i, i + 1) : kNan;
    case HeadStat::duplicate:
      return self_attention && any_key(map, i, is_duplicate) ? set_mass(map, h, i, is_duplicate)
                                                             : kNan;
    case HeadStat::induction:
      return self_attention && any_key(map, i, is_induction) ? set_mass(map, h, i, is_induction)
                                                             : kNan;
  }
  return kNan;
}

double head_value(const Map& map, HeadStat stat, int h) {
  std::vector<double> values;
  for (int i = 0; i < map.shape.n_queries; ++i) {
    if (!has_mass(map, h, i)) continue;
    const double value = row_value(map, stat, h, i);
    if (!std::isnan(value)) values.push_back(value);
  }
  if (values.empty()) return kNan;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void append_top_keys(const Map& map, int h, int i, int k, BruteForce& out) {
  std::vector<int> order;
  for (int j = 0; j < map.shape.n_keys && has_mass(map, h, i); ++j) {
    if (map.visible(i, j) || map.alpha(h, i, j) != 0) order.push_back(j);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return map.alpha(h, i, a) > map.alpha(h, i, b); });
  for (int rank = 0; rank < k; ++rank) {
    const bool exists = rank < static_cast<int>(order.size());
    const int j = exists ? order[static_cast<std::size_t>(rank)] : -1;
    out.topk_index.push_back(j);
    out.topk_value.push_back(exists ? map.alpha(h, i, j) : kNan);
  }
}

// Cell (a, b) covers every row i with i ≥ ⌊a·Tq/A⌋ and i < ⌈(a+1)·Tq/A⌉, and keys likewise.
bool in_cell(int i, int cell, int cells, int length) {
  return i >= std::floor(static_cast<double>(cell) * length / cells) &&
         i < std::ceil((cell + 1.0) * length / cells);
}

double cell_value(const Map& map, int h, int a, int b) {
  const int n_rows = std::min(64, map.shape.n_queries), n_cols = std::min(64, map.shape.n_keys);
  double largest = 0;
  for (int i = 0; i < map.shape.n_queries; ++i) {
    if (!in_cell(i, a, n_rows, map.shape.n_queries)) continue;
    for (int j = 0; j < map.shape.n_keys; ++j) {
      if (in_cell(j, b, n_cols, map.shape.n_keys)) {
        largest = std::max(largest, map.alpha(h, i, j));
      }
    }
  }
  return 255 * std::sqrt(largest);
}

}  // namespace

double Map::alpha(int h, int i, int j) const {
  return pattern[index3(h, i, j, shape.n_queries, shape.n_keys)];
}

bool Map::visible(int i, int j) const {
  if (shape.cross || !shape.causal) return true;
  return j <= i && (shape.window == 0 || i - j < shape.window);
}

Map random_map(const RandomMap& options) {
  Map map;
  map.shape.n_heads = options.n_heads;
  map.shape.n_queries = options.n_queries;
  map.shape.n_keys = options.n_keys;
  map.shape.top_k = options.top_k;
  map.shape.causal = options.causal;
  map.shape.cross = options.cross;
  map.shape.window = options.window;
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal(0, 2);
  std::uniform_int_distribution<std::int64_t> token(0, options.n_ids - 1);
  for (int j = 0; j < options.n_keys; ++j) map.ids.push_back(token(random));
  for (int h = 0; h < options.n_heads; ++h) {
    for (int j = 0; j < options.n_keys; ++j) map.norms.push_back(std::abs(normal(random)));
    for (int i = 0; i < options.n_queries; ++i) {
      std::vector<double> weights;
      for (int j = 0; j < options.n_keys; ++j) {
        const double score = normal(random);
        weights.push_back(map.visible(i, j) ? std::exp(score) : 0.0);
      }
      const double sink = options.learned_sink ? std::exp(normal(random)) : 0.0;
      const double total = std::accumulate(weights.begin(), weights.end(), sink);
      for (const double weight : weights) map.pattern.push_back(weight / total);
      map.lse.push_back(std::log(total));
      if (options.learned_sink) map.sink.push_back(sink / total);
    }
  }
  return map;
}

BruteForce brute_force(const Map& map) {
  BruteForce out;
  for (int h = 0; h < map.shape.n_heads; ++h) {
    for (int s = 0; s < kHeadStatCount; ++s) {
      out.head_stats.push_back(head_value(map, static_cast<HeadStat>(s), h));
    }
    for (int i = 0; i < map.shape.n_queries; ++i) {
      const bool defined = has_mass(map, h, i);
      const double values[kRowStatCount] = {
          entropy(map, h, i), row_max(map, h, i),  map.lse[index3(0, h, i, 0, map.shape.n_queries)],
          map.alpha(h, i, 0), distance(map, h, i), sink_mass(map, h, i)};
      for (int r = 0; r < kRowStatCount; ++r) {
        const bool is_lse = r == static_cast<int>(RowStat::lse);
        out.row_stats.push_back(defined || is_lse ? values[r] : kNan);
      }
      append_top_keys(map, h, i, std::min(map.shape.top_k, map.shape.n_keys), out);
    }
    for (int j = 0; j < map.shape.n_keys; ++j) {
      double sum = 0;
      for (int i = 0; i < map.shape.n_queries; ++i) sum += map.alpha(h, i, j);
      out.key_sum.push_back(sum);
    }
    for (int a = 0; a < std::min(64, map.shape.n_queries); ++a) {
      for (int b = 0; b < std::min(64, map.shape.n_keys); ++b) {
        out.overview.push_back(cell_value(map, h, a, b));
      }
    }
  }
  return out;
}

template <typename T>
AttentionStatistics accumulate(const Map& map, int block, Columns columns) {
  StatisticsShape shape = map.shape;
  if (!shape.cross) shape.ids = map.ids;
  StatisticsAccumulator accumulator(shape);
  const std::vector<T> pattern(map.pattern.begin(), map.pattern.end());
  const std::vector<T> lse(map.lse.begin(), map.lse.end());
  const std::vector<T> sink(map.sink.begin(), map.sink.end());
  const std::vector<T> norms(map.norms.begin(), map.norms.end());
  for (int h = shape.n_heads - 1; h >= 0; --h) {
    accumulator.set_value_norm(h, &norms[index3(0, h, 0, 0, shape.n_keys)]);
    for (int begin = 0; begin < shape.n_queries; begin += block) {
      const int n_rows = std::min(block, shape.n_queries - begin);
      const std::size_t row = index3(0, h, begin, 0, shape.n_queries);
      accumulator.add_rows(h, begin, n_rows,
                           &pattern[index3(h, begin, 0, shape.n_queries, shape.n_keys)],
                           shape.n_keys, &lse[row], sink.empty() ? nullptr : &sink[row],
                           columns == Columns::cut ? begin + n_rows : -1);
    }
  }
  return accumulator.finish();
}

template AttentionStatistics accumulate<float>(const Map&, int, Columns);
template AttentionStatistics accumulate<double>(const Map&, int, Columns);

}  // namespace attnscope::testing
