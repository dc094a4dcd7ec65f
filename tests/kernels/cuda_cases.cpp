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

}  // namespace

std::string name_of(const CudaCase& layer) {
  const char* const value = layer.value == CudaValue::f32   ? "f32"
                            : layer.value == CudaValue::f16 ? "f16"
                                                            : "bf16";
  return std::string(layer.name) + " " + value + " " + std::to_string(layer.n_queries) + "x" +
         std::to_string(layer.n_keys) + " d" + std::to_string(layer.d_head);
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

  map_.shape.n_heads = options.n_heads;
  map_.shape.n_queries = options.n_queries;
  map_.shape.n_keys = options.n_keys;
  map_.shape.top_k = options.top_k;
  map_.shape.causal = options.causal;
  map_.shape.cross = options.cross;
  map_.shape.window = options.window;
  make_vectors();
  make_pattern();

  input_.spec = &spec_;
  input_.value = options.value;
  input_.n_queries = options.n_queries;
  input_.n_keys = options.n_keys;
  input_.cross = options.cross;
  const auto heads = [&](const std::vector<float>& wide, const std::vector<std::uint16_t>& half,
                         int n_heads) {
    const std::int64_t row = std::int64_t{n_heads} * options.d_head + options.row_gap;
    const std::int64_t first = row * options.pads_before;
    const void* const data = options.value == CudaValue::f32
                                 ? static_cast<const void*>(wide.data() + first)
                                 : static_cast<const void*>(half.data() + first);
    return CudaHeads{data, row, options.d_head};
  };
  input_.q = heads(q_, q_half_, options.n_heads);
  input_.k = heads(k_, k_half_, options.n_kv_heads);
  input_.lse = lse_.data() + options.pads_before;
  input_.lse_stride = options.pads_before + options.n_queries + options.pads_after;
  if (options.sink) input_.sink = sink_.data();
  if (options.bias != Bias::none) {
    input_.distance_bias = bias_.data();
    input_.bias_stride = n_distances_;
    input_.bias_zero = options.n_queries - 1;
  }
  if (!options.cross) {
    previous_same_ = previous_same_ids(map_.ids);
    input_.previous_same = previous_same_.data();
  }
  input_.top_k = options.top_k;
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
      bias_.push_back(options_.bias == Bias::alibi ? -std::ldexp(apart, -h - 2) : draw());
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
      double lse = none ? -kInfinity : std::log(total);
      if (is_one_of(options_.nan_rows, i)) lse = kNan;
      for (const double s : scores) map_.pattern.push_back(none ? 0 : std::exp(s - lse));
      map_.lse.push_back(lse);
      lse_.push_back(static_cast<float>(lse));
      if (options_.sink) map_.sink.push_back(none ? 0 : std::exp(sink - lse));
    }
    lse_.insert(lse_.end(), size(options_.pads_after), kNan);
  }
}

bool CudaResult::operator==(const CudaResult& other) const {
  return same_bits(rows, other.rows) && same_bits(topk_value, other.topk_value) &&
         topk_index == other.topk_index && key_sum == other.key_sum && overview == other.overview &&
         tiles == other.tiles;
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
  CudaResult result;
  result.plan = plan_cuda_statistics(input, maps, {227 * 1024, enough});
  const CudaStatisticsBytes& bytes = result.plan.bytes;
  // What is not cleared before the launch must be written by it.
  result.rows.assign(size(bytes.rows / 4), 12345.0F);
  result.topk_value.assign(size(bytes.topk_value / 4), 12345.0F);
  result.topk_index.assign(size(bytes.topk_index / 4), 12345);
  result.key_sum.assign(size(bytes.key_sum / 8), 0);
  result.overview.assign(size(bytes.overview / 4), 0);
  result.tiles.assign(size((bytes.tiles + 3) / 4), 0);
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

}  // namespace attnscope::testing
