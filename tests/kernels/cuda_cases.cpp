#include "cuda_cases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace attnscope::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Bits of a value that a half, or a bfloat, holds exactly or nearly so: the test goes on with what
// the bits say.
std::uint16_t half_bits(float value) {
  if (std::isnan(value)) return 0x7e00;
  const std::uint16_t sign = value < 0 ? 0x8000 : 0;
  int exponent = 0;
  const float mantissa = std::frexp(std::fabs(value), &exponent);
  if (mantissa == 0 || exponent < -13) return sign;
  const auto eleven = static_cast<int>(mantissa * 2048);
  return static_cast<std::uint16_t>(sign | (exponent + 14) << 10 | (eleven & 0x3ff));
}

std::uint16_t bfloat_bits(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
}

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * 4) == 0);
}

bool differs(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return !std::isnan(got);
  if (std::isinf(expected)) return got != expected;
  return !(std::fabs(got - expected) <= tolerance * std::max(1.0, std::fabs(expected)));
}

std::string first_difference(const std::vector<float>& got, const std::vector<double>& expected,
                             double tolerance) {
  if (got.size() != expected.size()) return ": " + std::to_string(got.size()) + " values";
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!differs(static_cast<double>(got[i]), expected[i], tolerance)) continue;
    return " at " + std::to_string(i) + ": " + std::to_string(got[i]) + " instead of " +
           std::to_string(expected[i]);
  }
  return "";
}

}  // namespace

std::string name_of(const CudaCase& layer) {
  const char* const value = layer.value == CudaValue::f32   ? "f32"
                            : layer.value == CudaValue::f16 ? "f16"
                                                            : "bf16";
  return std::string(layer.name) + " " + value + " " + std::to_string(layer.n_queries) + "x" +
         std::to_string(layer.n_keys) + " d" + std::to_string(layer.d_head);
}

const std::vector<CudaCase>& dense_cases() {
  static const std::vector<CudaCase> all = {
      {.name = "one token", .n_queries = 1, .n_keys = 1},
      {.name = "causal", .n_queries = 7, .n_keys = 7},
      {.name = "one tile", .n_queries = 64, .n_keys = 64},
      {.name = "one more", .n_queries = 65, .n_keys = 65},
      {.name = "three tiles", .n_queries = 150, .n_keys = 150, .n_ids = 12},
      {.name = "real numbers",
       .d_head = 64,
       .n_queries = 130,
       .n_keys = 130,
       .numbers = Numbers::real},
      {.name = "bidirectional", .n_queries = 70, .n_keys = 70, .causal = false},
      {.name = "cross", .n_queries = 5, .n_keys = 131, .causal = false, .cross = true, .top_k = 32},
      {.name = "tall cross", .n_queries = 131, .n_keys = 5, .causal = false, .cross = true},
      {.name = "window", .n_queries = 140, .n_keys = 140, .window = 70},
      {.name = "window of one", .n_queries = 66, .n_keys = 66, .window = 1},
      {.name = "narrow window", .n_queries = 200, .n_keys = 200, .window = 3, .n_ids = 2},
      {.name = "grouped", .n_heads = 6, .n_kv_heads = 2, .n_queries = 40, .n_keys = 40},
      {.name = "one kv head", .n_heads = 4, .n_kv_heads = 1, .n_queries = 33, .n_keys = 33},
      {.name = "sink", .n_queries = 70, .n_keys = 70, .sink = true},
      {.name = "soft-cap", .n_queries = 50, .n_keys = 50, .softcap = 5},
      {.name = "ALiBi", .n_queries = 90, .n_keys = 90, .bias = Bias::alibi},
      {.name = "buckets", .n_queries = 66, .n_keys = 66, .causal = false, .bias = Bias::buckets},
      {.name = "holes", .n_queries = 70, .n_keys = 70, .bias = Bias::holes},
      {.name = "all at once",
       .n_heads = 4,
       .n_queries = 100,
       .n_keys = 100,
       .window = 80,
       .sink = true,
       .softcap = 4,
       .bias = Bias::alibi},
      {.name = "padded", .n_queries = 37, .n_keys = 37, .pads_before = 5, .pads_after = 3},
      {.name = "padded, bidirectional",
       .n_queries = 67,
       .n_keys = 67,
       .causal = false,
       .pads_before = 2},
      {.name = "rows that see nothing",
       .n_queries = 70,
       .n_keys = 70,
       .masked_rows = {0, 3, 64, 69}},
      {.name = "no row sees", .n_queries = 2, .n_keys = 2, .masked_rows = {0, 1}},
      {.name = "one key", .n_queries = 20, .n_keys = 20, .top_k = 1},
      {.name = "many keys", .n_queries = 70, .n_keys = 70, .top_k = 32},
      {.name = "odd head", .d_head = 5, .n_queries = 70, .n_keys = 70},
      {.name = "odd rows", .d_head = 24, .n_queries = 66, .n_keys = 66, .row_gap = 1},
      {.name = "two slices", .d_head = 72, .n_queries = 70, .n_keys = 70},
      {.name = "large head",
       .n_heads = 1,
       .n_kv_heads = 1,
       .d_head = 256,
       .n_queries = 66,
       .n_keys = 66},
      {.name = "one id", .n_queries = 70, .n_keys = 70, .n_ids = 1},
      {.name = "own ids", .n_queries = 70, .n_keys = 70, .n_ids = 1000000}};
  return all;
}

CudaLayer::CudaLayer(const CudaCase& options) : options_(options) {
  spec_.n_heads = options.n_heads;
  spec_.n_kv_heads = options.n_kv_heads;
  spec_.d_head = options.d_head;
  // A power of two keeps exact scores exact; as small as 1/√d would be, or smaller.
  spec_.scale = options.numbers == Numbers::exact ? 0.25 : 1 / std::sqrt(options.d_head);
  spec_.mask = options.causal ? MaskKind::causal : MaskKind::bidirectional;
  spec_.window = options.window;
  spec_.softcap = options.softcap;
  spec_.learned_sink = options.sink;
  spec_.alibi = options.bias == Bias::alibi;

  map_.shape.n_heads = options.n_heads;
  map_.shape.n_queries = options.n_queries;
  map_.shape.n_keys = options.n_keys;
  map_.shape.top_k = options.top_k;
  map_.shape.causal = options.causal;
  map_.shape.cross = options.cross;
  map_.shape.window = options.window;
  make_vectors();
  make_pattern();

  if (!options.cross) previous_same_ = previous_same_ids(map_.ids);
  input_ = input_at([](const void* array, std::size_t) { return array; });
}

CudaStatisticsInput CudaLayer::input_at(const Place& place) const {
  const auto whole = [&](const auto& array) {
    return array.empty() ? nullptr
                         : static_cast<decltype(array.data())>(
                               place(array.data(), array.size() * sizeof array[0]));
  };
  const auto heads = [&](const std::vector<float>& wide, const std::vector<std::uint16_t>& half,
                         int n_heads) {
    const std::int64_t row = std::int64_t{n_heads} * options_.d_head + options_.row_gap;
    const std::int64_t first = row * options_.pads_before;
    const void* const data = options_.value == CudaValue::f32
                                 ? static_cast<const void*>(whole(wide) + first)
                                 : static_cast<const void*>(whole(half) + first);
    return CudaHeads{data, row, options_.d_head};
  };
  CudaStatisticsInput input;
  input.spec = &spec_;
  input.value = options_.value;
  input.n_queries = options_.n_queries;
  input.n_keys = options_.n_keys;
  input.cross = options_.cross;
  input.q = heads(q_, q_half_, options_.n_heads);
  input.k = heads(k_, k_half_, options_.n_kv_heads);
  input.lse = whole(lse_) + options_.pads_before;
  input.lse_stride = options_.pads_before + options_.n_queries + options_.pads_after;
  if (options_.sink) input.sink = whole(sink_);
  if (options_.bias != Bias::none) {
    input.distance_bias = whole(bias_);
    input.bias_stride = n_distances_;
    input.bias_zero = options_.n_queries - 1;
  }
  input.previous_same = whole(previous_same_);
  input.top_k = options_.top_k;
  return input;
}

StatisticsShape CudaLayer::shape() const {
  StatisticsShape shape = map_.shape;
  if (!shape.cross) shape.ids = map_.ids;
  return shape;
}

void CudaLayer::make_vectors() {
  std::mt19937 random(options_.seed);
  std::normal_distribution<float> normal(0, 1);
  std::uniform_int_distribution<int> eighths(-8, 8);
  const auto draw = [&] {
    return options_.numbers == Numbers::real ? normal(random)
                                             : static_cast<float>(eighths(random)) / 8;
  };
  const auto fill = [&](int n_real, int n_heads, std::vector<float>& wide,
                        std::vector<std::uint16_t>& half) {
    for (int i = -options_.pads_before; i < n_real + options_.pads_after; ++i) {
      const bool real = i >= 0 && i < n_real;
      for (int e = 0; e < n_heads * options_.d_head; ++e) wide.push_back(real ? draw() : kNan);
      wide.insert(wide.end(), size(options_.row_gap), kNan);
    }
    if (options_.value == CudaValue::f32) return;
    const bool f16 = options_.value == CudaValue::f16;
    for (float& value : wide) {
      half.push_back(f16 ? half_bits(value) : bfloat_bits(value));
      if (std::isnan(value)) continue;
      value = f16 ? half_value(half.back()) : bfloat_value(half.back());
    }
  };
  fill(options_.n_queries, options_.n_heads, q_, q_half_);
  fill(options_.n_keys, options_.n_kv_heads, k_, k_half_);

  std::uniform_int_distribution<std::int64_t> token(0, options_.n_ids - 1);
  for (int j = 0; j < options_.n_keys; ++j) map_.ids.push_back(token(random));
  for (int e = 0; e < options_.n_heads * options_.n_keys; ++e) {
    map_.norms.push_back(static_cast<double>(std::fabs(normal(random))));
  }
  for (int h = 0; h < options_.n_heads; ++h) sink_.push_back(normal(random));
  n_distances_ = options_.n_queries + options_.n_keys - 1;
  for (int h = 0; h < options_.n_heads; ++h) {
    for (int b = 0; b < n_distances_; ++b) {
      const auto apart = static_cast<float>(std::abs(b - (options_.n_queries - 1)));
      const bool hole = options_.bias == Bias::holes && static_cast<int>(apart) % 3 == 1;
      const float bias = options_.bias == Bias::alibi ? -std::ldexp(apart, -h - 2) : draw();
      bias_.push_back(hole ? -kInfinity : bias);
    }
  }
}

float CudaLayer::q_at(int position, int head, int d) const {
  const int row = options_.n_heads * options_.d_head + options_.row_gap;
  return q_[size((position + options_.pads_before) * row + head * options_.d_head + d)];
}

float CudaLayer::k_at(int position, int head, int d) const {
  const int row = options_.n_kv_heads * options_.d_head + options_.row_gap;
  return k_[size((position + options_.pads_before) * row + head * options_.d_head + d)];
}

double CudaLayer::score(int head, int query, int key) const {
  const int kv_head = head / (options_.n_heads / options_.n_kv_heads);
  double score = 0;
  for (int d = 0; d < options_.d_head; ++d) {
    score += static_cast<double>(q_at(query, head, d)) * static_cast<double>(k_at(key, kv_head, d));
  }
  score *= spec_.scale;
  if (options_.softcap > 0) score = options_.softcap * std::tanh(score / options_.softcap);
  if (options_.bias == Bias::none) return score;
  const int distance = key - query + options_.n_queries - 1;
  return score + static_cast<double>(bias_[size(head * n_distances_ + distance)]);
}

void CudaLayer::make_pattern() {
  const auto is_one_of = [](const std::vector<int>& rows, int i) {
    return std::find(rows.begin(), rows.end(), i) != rows.end();
  };
  for (int h = 0; h < options_.n_heads; ++h) {
    lse_.insert(lse_.end(), size(options_.pads_before), kNan);
    for (int i = 0; i < options_.n_queries; ++i) {
      const bool none = is_one_of(options_.masked_rows, i);
      const double sink = static_cast<double>(sink_[size(h)]);
      double total = options_.sink ? std::exp(sink) : 0;
      std::vector<double> scores;
      for (int j = 0; j < options_.n_keys; ++j) {
        scores.push_back(map_.visible(i, j) && !none ? score(h, i, j) : -kInfinity);
        total += std::exp(scores.back());
      }
      // Forward passes call it either infinity.
      double lse = none ? (i % 2 == 0 ? -kInfinity : kInfinity) : std::log(total);
      if (is_one_of(options_.nan_rows, i)) lse = kNan;
      for (const double s : scores) map_.pattern.push_back(none ? 0 : std::exp(s - lse));
      map_.lse.push_back(lse);
      lse_.push_back(static_cast<float>(lse));
      if (options_.sink) map_.sink.push_back(none ? 0 : std::exp(sink - lse));
    }
    lse_.insert(lse_.end(), size(options_.pads_after), kNan);
  }
}

// What is not cleared before the launch must be written by it.
CudaResult::CudaResult(const CudaStatisticsPlan& wanted) : plan(wanted) {
  rows.assign(size(plan.bytes.rows / 4), 12345.0F);
  topk_value.assign(size(plan.bytes.topk_value / 4), 12345.0F);
  topk_index.assign(size(plan.bytes.topk_index / 4), 12345);
  key_sum.assign(size(plan.bytes.key_sum / 8), 0);
  overview.assign(size(plan.bytes.overview / 4), 0);
  tiles.assign(size((plan.bytes.tiles + 3) / 4), 0);
}

bool CudaResult::operator==(const CudaResult& other) const {
  return same_bits(rows, other.rows) && same_bits(topk_value, other.topk_value) &&
         topk_index == other.topk_index && key_sum == other.key_sum && overview == other.overview &&
         tiles == other.tiles;
}

std::vector<float> run_lse(const CudaLayer& layer, const Emulation& emulation) {
  CudaStatisticsInput input = layer.input();
  input.lse = nullptr;
  input.previous_same = nullptr;
  input.lse_stride = input.n_queries;
  std::vector<float> lse(size(input.spec->n_heads) * size(input.n_queries), 12345.0F);
  emulate_lse(cuda::make_lse_params(input, lse.data()), input.value, emulation);
  return lse;
}

CudaResult run_pass(const CudaLayer& layer, const Emulation& emulation,
                    const CudaMapChoice& choice) {
  const CudaStatisticsInput& input = layer.input();
  std::vector<std::int32_t> slots(size(input.spec->n_heads), -1);
  CudaMaps maps;
  for (const int head : choice.heads) slots[size(head)] = maps.n_maps++;
  maps.value = choice.value;
  maps.floor = choice.floor;
  if (maps.n_maps > 0) maps.slot = slots.data();

  const std::int64_t enough = std::int64_t{1} << 40;
  CudaResult result(plan_cuda_statistics(input, maps, {227 * 1024, enough}));
  maps.tiles = result.tiles.data();
  const CudaStatisticsOutput output = {result.rows.data(), result.topk_value.data(),
                                       result.topk_index.data(), result.key_sum.data(),
                                       result.overview.data()};
  emulate(cuda::make_params(input, maps, output), input.value, emulation);
  return result;
}

AttentionStatistics finish(const CudaLayer& layer, const CudaResult& result) {
  CudaResult copy = result;
  const std::vector<float> lse(layer.map().lse.begin(), layer.map().lse.end());
  const std::vector<float> norms(layer.map().norms.begin(), layer.map().norms.end());
  return finish_cuda_statistics(layer.shape(),
                                {{copy.rows.data(), copy.topk_value.data(), copy.topk_index.data(),
                                  copy.key_sum.data(), copy.overview.data()},
                                 lse.data(),
                                 norms.data()});
}

std::string first_difference(const CudaCase& layer, const AttentionStatistics& got,
                             const BruteForce& expected, double tolerance) {
  if (got.overview.size() != expected.overview.size()) return "size of the overview";
  std::string difference = first_difference(got.head_stats, expected.head_stats, tolerance);
  if (!difference.empty()) return "head statistics" + difference;
  difference = first_difference(got.row_stats, expected.row_stats, tolerance);
  if (!difference.empty()) return "row statistics" + difference;
  difference = first_difference(got.topk_value, expected.topk_value, tolerance);
  if (!difference.empty()) return "top-k values" + difference;
  difference = first_difference(got.key_sum, expected.key_sum, tolerance);
  if (!difference.empty()) return "key sums" + difference;
  for (std::size_t i = 0; i < expected.overview.size(); ++i) {
    // A byte is half a step off at most, and 255·√α a little more.
    if (std::fabs(got.overview[i] - expected.overview[i]) > 0.501) {
      return "overview at " + std::to_string(i) + ": " + std::to_string(got.overview[i]) +
             " instead of " + std::to_string(expected.overview[i]);
    }
  }
  if (layer.numbers == Numbers::real) return "";
  return got.topk_index == expected.topk_index ? "" : "top-k keys";
}

}  // namespace attnscope::testing
