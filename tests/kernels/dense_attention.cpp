#include "dense_attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>

namespace attnscope::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::atomic<std::int64_t> multiplications{0};

std::size_t size_of(std::int64_t a, std::int64_t b, std::int64_t c = 1) {
  return static_cast<std::size_t>(a * b * c);
}

// Index of [a b c] in an array of [· width_b width_c].
std::size_t at3(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t width_b,
                std::int64_t width_c) {
  return static_cast<std::size_t>((a * width_b + b) * width_c + c);
}

StatisticsShape shape_of(const AttentionCase& c) {
  StatisticsShape shape;
  shape.n_heads = c.n_heads;
  shape.n_queries = c.n_queries;
  shape.n_keys = c.n_keys;
  shape.top_k = c.top_k;
  shape.causal = c.mask == MaskKind::causal;
  shape.cross = c.n_queries != c.n_keys;
  shape.window = c.window;
  return shape;
}

AttentionSpec spec_of(const AttentionCase& c) {
  AttentionSpec spec;
  spec.n_heads = c.n_heads;
  spec.n_kv_heads = c.n_kv_heads;
  spec.d_head = c.d_head;
  spec.scale = 1 / std::sqrt(static_cast<double>(c.d_head));
  spec.mask = c.mask;
  spec.window = c.window;
  spec.softcap = c.softcap;
  spec.learned_sink = c.sink;
  return spec;
}

// ‖f(x_j)‖ of any head.
std::vector<double> norms_of(const AttentionCase& c) {
  std::vector<double> norms;
  for (int j = 0; j < c.n_keys; ++j) norms.push_back(1 + j % 5);
  return norms;
}

double dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

double score(const AttentionCase& c, const AttentionArrays& x, int h, int i, int j) {
  const int g = h / (c.n_heads / c.n_kv_heads);
  const int distance = j - (c.first_query + i);
  const double* const q = &x.q[at3(i, h, 0, c.n_heads, c.d_head)];
  double s = dot(q, &x.k[at3(j, g, 0, c.n_kv_heads, c.d_head)], c.d_head);
  if (c.shaw_clip >= 0) {
    const int entry = std::clamp(distance, -c.shaw_clip, c.shaw_clip) + c.shaw_clip;
    s += dot(q, &x.shaw_key[size_of(entry, c.d_head)], c.d_head);
  }
  s /= std::sqrt(static_cast<double>(c.d_head));
  if (c.softcap > 0) s = c.softcap * std::tanh(s / c.softcap);
  if (c.bias) s += x.bias[static_cast<std::size_t>(h * x.bias_width + distance + x.bias_zero)];
  return s;
}

double value(const AttentionCase& c, const AttentionArrays& x, int h, int i, int j, int e) {
  const int g = h / (c.n_heads / c.n_kv_heads);
  double v = x.v[at3(j, g, e, c.n_kv_heads, c.d_head)];
  if (c.shaw_values) {
    const int distance = std::clamp(j - (c.first_query + i), -c.shaw_clip, c.shaw_clip);
    v += x.shaw_value[at3(0, distance + c.shaw_clip, e, 0, c.d_head)];
  }
  return v;
}

// Values of one position lie a little further apart than they must; the gap must stay as it is.
template <typename T>
struct PaddedHeads {
  static constexpr int kGap = 3;
  static constexpr T kUnused = 77;
  PaddedHeads(const std::vector<double>& from, int n, int heads, int d)
      : stride(heads * d + kGap), d_head(d), values(size_of(n, stride), kUnused) {
    for (std::size_t p = 0, source = 0; p < static_cast<std::size_t>(n); ++p) {
      for (int i = 0; i < heads * d; ++i) {
        values[p * static_cast<std::size_t>(stride) + static_cast<std::size_t>(i)] =
            static_cast<T>(from[source++]);
      }
    }
  }
  template <typename U>
  HeadsView<U> view() {
    return {values.data(), stride, d_head};
  }

  std::vector<T> without_gaps() const {
    std::vector<T> out;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (static_cast<std::int64_t>(i) % stride < stride - kGap) {
        out.push_back(values[i]);
      } else if (values[i] != kUnused) {
        throw std::logic_error("a write between the heads of two positions");
      }
    }
    return out;
  }

  std::int64_t stride;
  std::int64_t d_head;
  std::vector<T> values;
};

}  // namespace

std::string AttentionCase::name() const {
  std::string text = std::to_string(n_queries) + " queries from " + std::to_string(first_query) +
                     ", " + std::to_string(n_keys) + " keys, " + std::to_string(n_heads) + "/" +
                     std::to_string(n_kv_heads) + " heads of " + std::to_string(d_head);
  text += mask == MaskKind::causal ? ", causal" : ", bidirectional";
  if (window > 0) text += ", window " + std::to_string(window);
  if (softcap > 0) text += ", soft-cap";
  if (bias) text += ", bias";
  if (shaw_clip >= 0) text += ", Shaw " + std::to_string(shaw_clip);
  if (shaw_values) text += " with values";
  if (sink) text += ", sink";
  return text;
}

bool AttentionCase::sees(int query, int key) const {
  const int position = first_query + query;
  if (mask == MaskKind::causal && key > position) return false;
  return window == 0 || position - key < window;
}

AttentionArrays random_arrays(const AttentionCase& c) {
  std::mt19937_64 random(c.seed);
  std::normal_distribution<float> normal;
  const auto fill = [&](std::vector<double>& values, std::size_t n, double spread = 1) {
    values.resize(n);
    for (double& value : values) value = spread * static_cast<double>(normal(random));
  };
  AttentionArrays x;
  fill(x.q, size_of(c.n_queries, c.n_heads, c.d_head));
  fill(x.k, size_of(c.n_keys, c.n_kv_heads, c.d_head));
  fill(x.v, size_of(c.n_keys, c.n_kv_heads, c.d_head));
  if (c.sink) fill(x.sink, static_cast<std::size_t>(c.n_heads));
  if (c.bias) {
    x.bias_zero = c.first_query + c.n_queries - 1;
    x.bias_width = x.bias_zero + c.n_keys;
    fill(x.bias, size_of(c.n_heads, x.bias_width));
  }
  if (c.shaw_clip >= 0) fill(x.shaw_key, size_of(2 * c.shaw_clip + 1, c.d_head), 0.5);
  if (c.shaw_values) fill(x.shaw_value, size_of(2 * c.shaw_clip + 1, c.d_head));
  for (int j = 0; j < c.n_keys; ++j) x.ids.push_back(static_cast<std::int64_t>(random() % 9));
  return x;
}

DenseAttention dense_attention(const AttentionCase& c, const AttentionArrays& x) {
  DenseAttention out;
  out.pattern.assign(size_of(c.n_heads, c.n_queries, c.n_keys), 0);
  out.z.assign(size_of(c.n_queries, c.n_heads, c.d_head), 0);
  for (int h = 0; h < c.n_heads; ++h) {
    for (int i = 0; i < c.n_queries; ++i) {
      double* const row = &out.pattern[at3(h, i, 0, c.n_queries, c.n_keys)];
      const double sink = c.sink ? x.sink[static_cast<std::size_t>(h)] : -kInf;
      double largest = sink;
      for (int j = 0; j < c.n_keys; ++j) {
        row[j] = c.sees(i, j) ? score(c, x, h, i, j) : -kInf;
        largest = std::max(largest, row[j]);
      }
      double sum = largest > -kInf ? std::exp(sink - largest) : 0;
      for (int j = 0; j < c.n_keys && largest > -kInf; ++j) sum += std::exp(row[j] - largest);
      const double lse = sum > 0 ? largest + std::log(sum) : -kInf;
      for (int j = 0; j < c.n_keys; ++j) row[j] = sum > 0 ? std::exp(row[j] - lse) : 0.0;
      out.lse.push_back(lse);
      out.sink_mass.push_back(sum > 0 ? std::exp(sink - lse) : 0.0);
      for (int e = 0; e < c.d_head; ++e) {
        double& z = out.z[at3(i, h, e, c.n_heads, c.d_head)];
        for (int j = 0; j < c.n_keys; ++j) {
          if (row[j] != 0) z += row[j] * value(c, x, h, i, j, e);
        }
      }
    }
  }
  return out;
}

Map map_of_head(const AttentionCase& c, const AttentionArrays& x, const DenseAttention& dense,
                int head) {
  Map map;
  map.shape = shape_of(c);
  map.shape.n_heads = 1;
  map.ids = x.ids;
  const auto part = [head](const std::vector<double>& all, std::size_t n) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(n) * head;
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(n));
  };
  map.pattern = part(dense.pattern, size_of(c.n_queries, c.n_keys));
  map.lse = part(dense.lse, static_cast<std::size_t>(c.n_queries));
  if (c.sink) map.sink = part(dense.sink_mass, static_cast<std::size_t>(c.n_queries));
  map.norms = norms_of(c);
  return map;
}

template <typename T>
void plain_product(const MatrixTask<T>& task) {
  multiplications += task.m * task.n * task.k;
  for (std::int64_t i = 0; i < task.m; ++i) {
    T* const c = task.c + i * task.ldc;
    if (task.accumulate == Accumulate::no) std::fill_n(c, task.n, T{0});
    for (std::int64_t l = 0; l < task.k; ++l) {
      const T a = task.a[i * task.lda + l];
      const T* const b = task.b + l * task.ldb;
      for (std::int64_t j = 0; j < task.n; ++j) c[j] += a * b[j];
    }
  }
}

std::int64_t multiplications_since_last_call() {
  return multiplications.exchange(0);
}

template <typename T>
TiledResult<T> run_tiled(const AttentionCase& c, const AttentionArrays& x, const Asked& asked) {
  const AttentionSpec spec = spec_of(c);
  const auto typed = [](const std::vector<double>& values) {
    return std::vector<T>(values.begin(), values.end());
  };
  PaddedHeads<T> q(x.q, c.n_queries, c.n_heads, c.d_head);
  PaddedHeads<T> k(x.k, c.n_keys, c.n_kv_heads, c.d_head);
  PaddedHeads<T> v(x.v, c.n_keys, c.n_kv_heads, c.d_head);
  const std::vector<double> unset(x.q.size(), std::numeric_limits<double>::quiet_NaN());
  PaddedHeads<T> z(unset, c.n_queries, c.n_heads, c.d_head);
  const std::vector<T> sink = typed(x.sink), bias = typed(x.bias);
  const std::vector<T> shaw_key = typed(x.shaw_key), shaw_value = typed(x.shaw_value);

  TiledAttentionInput<T> input;
  input.spec = &spec;
  input.n_queries = c.n_queries;
  input.n_keys = c.n_keys;
  input.first_query = c.first_query;
  input.q = q.template view<const T>();
  input.k = k.template view<const T>();
  input.v = v.template view<const T>();
  input.product = plain_product<T>;
  if (c.sink) input.sink = sink.data();
  if (c.bias) input.distance_bias = bias.data();
  input.bias_stride = x.bias_width;
  input.bias_zero = x.bias_zero;
  if (c.shaw_clip >= 0) input.shaw = {c.shaw_clip, shaw_key.data(), nullptr};
  if (c.shaw_values) input.shaw.value = shaw_value.data();

  TiledResult<T> result;
  TiledAttentionOutput<T> output;
  output.z = z.template view<T>();
  result.lse.assign(size_of(c.n_heads, c.n_queries), std::numeric_limits<T>::quiet_NaN());
  if (asked.lse) output.lse = result.lse.data();
  StatisticsShape shape = shape_of(c);
  if (!shape.cross) shape.ids = x.ids;
  StatisticsAccumulator statistics(shape);
  if (asked.statistics) output.statistics = &statistics;
  std::vector<int> heads = asked.heads;
  for (int h = 0; h < c.n_heads && asked.heads.empty(); ++h) heads.push_back(h);
  // A width of its own, and values that must be overwritten.
  const std::int64_t width = c.n_keys + 5;
  std::vector<T> maps(asked.pattern ? size_of(c.n_heads, c.n_queries, width) : 0, T{77});

  TiledAttention<T> attention(input, output);
  for (int g = 0; g < c.n_kv_heads; ++g) attention.prepare(g);
  const int length = asked.part_queries > 0 ? asked.part_queries : c.n_queries;
  std::vector<std::thread> threads;
  for (int t = 0; t < asked.n_threads; ++t) {
    threads.emplace_back([&, t] {
      TiledScratch<T> scratch;
      for (std::size_t i = static_cast<std::size_t>(t); i < heads.size();
           i += static_cast<std::size_t>(asked.n_threads)) {
        for (int begin = 0; begin < c.n_queries; begin += length) {
          TiledPart<T> part;
          part.head = heads[i];
          part.q_begin = begin;
          part.q_end = std::min(begin + length, c.n_queries);
          if (asked.pattern) part.pattern = &maps[at3(heads[i], begin, 0, c.n_queries, width)];
          part.pattern_stride = width;
          attention.compute(part, scratch);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t row = 0; row * static_cast<std::size_t>(width) < maps.size(); ++row) {
    const auto first = maps.begin() + static_cast<std::ptrdiff_t>(row) * width;
    result.pattern.insert(result.pattern.end(), first, first + c.n_keys);
  }

  result.z = z.without_gaps();
  if (asked.statistics && asked.heads.empty()) {
    const std::vector<double> norms = norms_of(c);
    for (const int head : heads) statistics.set_value_norm(head, norms.data());
    result.statistics = statistics.finish();
  }
  return result;
}

template void plain_product(const MatrixTask<float>&);
template void plain_product(const MatrixTask<double>&);
template TiledResult<float> run_tiled(const AttentionCase&, const AttentionArrays&, const Asked&);
template TiledResult<double> run_tiled(const AttentionCase&, const AttentionArrays&, const Asked&);

}  // namespace attnscope::testing
