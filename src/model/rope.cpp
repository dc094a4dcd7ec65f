#include "rope.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace attnscope {
namespace {

double pair_exponent(const RopeSpec& spec, int k) {
  return 2.0 * k / static_cast<double>(spec.rotary_dims);
}

// Base for which the lowest frequency is stretched just enough for `length` tokens.
double dynamic_base(const RopeSpec& spec, double length) {
  const double longest = std::max(length, spec.original_context);
  const double stretch = spec.factor * longest / spec.original_context - (spec.factor - 1);
  const double dims = spec.rotary_dims;
  return spec.theta * std::pow(stretch, dims / (dims - 2));
}

// Index of the pair that turns `rotations` times within the original context.
double yarn_pair(const RopeSpec& spec, double rotations) {
  return spec.rotary_dims * std::log(spec.original_context / (2 * std::numbers::pi * rotations)) /
         (2 * std::log(spec.theta));
}

// 0 where a pair keeps its frequency, 1 where it is divided by the factor.
double yarn_ramp(const RopeSpec& spec, int k) {
  double low = yarn_pair(spec, spec.beta_fast);
  double high = yarn_pair(spec, spec.beta_slow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, spec.rotary_dims - 1.0);
  constexpr double kApart = 0.001;
  if (low == high) high += kApart;
  return std::clamp((k - low) / (high - low), 0.0, 1.0);
}

double llama3_frequency(const RopeSpec& spec, double frequency) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double turns = spec.original_context / wavelength;
  if (turns > spec.high_freq_factor) return frequency;
  if (turns < spec.low_freq_factor) return frequency / spec.factor;
  const double t = (turns - spec.low_freq_factor) / (spec.high_freq_factor - spec.low_freq_factor);
  return (1 - t) * frequency / spec.factor + t * frequency;
}

double scaled_frequency(const RopeSpec& spec, int k, double length) {
  const double frequency = std::pow(spec.theta, -pair_exponent(spec, k));
  switch (spec.scaling) {
    case RopeScaling::none:
      return frequency;
    case RopeScaling::linear:
      return frequency / spec.factor;
    case RopeScaling::dynamic:
      return std::pow(dynamic_base(spec, length), -pair_exponent(spec, k));
    case RopeScaling::yarn: {
      const double ramp = yarn_ramp(spec, k);
      return frequency / spec.factor * ramp + frequency * (1 - ramp);
    }
    case RopeScaling::llama3:
      return llama3_frequency(spec, frequency);
    case RopeScaling::longrope: {
      const auto& factors = length > spec.original_context ? spec.long_factor : spec.short_factor;
      return frequency / factors[static_cast<std::size_t>(k)];
    }
  }
  return frequency;
}

bool depends_on_length(const RopeSpec& spec) {
  return spec.scaling == RopeScaling::dynamic || spec.scaling == RopeScaling::longrope;
}

bool same_positions(const at::Tensor& position_ids) {
  return position_ids.size(0) == 1 ||
         at::equal(position_ids, position_ids.narrow(0, 0, 1).expand_as(position_ids));
}

// One computed row of the table for each distinct (row length, position).
class AngleRows {
 public:
  explicit AngleRows(const RopeSpec& spec) : spec_(spec), magnitude_(rope_magnitude(spec)) {}

  std::int64_t index_of(double length, std::int64_t position) {
    const auto [entry, added] = rows_.try_emplace({length, position}, n_rows_);
    if (added) {
      append(length, position);
      ++n_rows_;
    }
    return entry->second;
  }

  at::Tensor gather(const std::vector<double>& values, const std::vector<std::int64_t>& indices) {
    const std::int64_t pairs = spec_.rotary_dims / 2;
    return at::tensor(values, at::TensorOptions(at::kDouble))
        .view({n_rows_, pairs})
        .index_select(0, at::tensor(indices, at::TensorOptions(at::kLong)));
  }

  const std::vector<double>& cos() const { return cos_; }
  const std::vector<double>& sin() const { return sin_; }

 private:
  void append(double length, std::int64_t position) {
    auto [frequencies, added] = frequencies_.try_emplace(length);
    if (added) frequencies->second = rope_frequencies(spec_, length);
    for (const double frequency : frequencies->second) {
      const double angle = static_cast<double>(position) * frequency;
      cos_.push_back(std::cos(angle) * magnitude_);
      sin_.push_back(std::sin(angle) * magnitude_);
    }
  }

  const RopeSpec& spec_;
  double magnitude_;
  std::int64_t n_rows_ = 0;
  std::map<std::pair<double, std::int64_t>, std::int64_t> rows_;
  std::map<double, std::vector<double>> frequencies_;
  std::vector<double> cos_;
  std::vector<double> sin_;
};

}  // namespace

std::vector<double> rope_frequencies(const RopeSpec& spec, double length) {
  std::vector<double> frequencies;
  for (int k = 0; k < spec.rotary_dims / 2; ++k) {
    frequencies.push_back(scaled_frequency(spec, k, length));
  }
  return frequencies;
}

double rope_magnitude(const RopeSpec& spec) {
  const bool yarn = spec.scaling == RopeScaling::yarn;
  if (!yarn && spec.scaling != RopeScaling::longrope) return 1;
  if (spec.attention_factor != 0) return spec.attention_factor;
  if (spec.factor <= 1) return 1;
  if (yarn) return 0.1 * std::log(spec.factor) + 1;
  return std::sqrt(1 + std::log(spec.factor) / std::log(spec.original_context));
}

RopeTable rope_table(const RopeSpec& spec, const at::Tensor& position_ids,
                     const at::TensorOptions& options) {
  at::Tensor positions = position_ids.cpu().contiguous();
  if (same_positions(positions)) positions = positions.narrow(0, 0, 1);
  const std::int64_t rows = positions.size(0);
  const std::int64_t length = positions.size(1);
  const auto* ids = positions.const_data_ptr<std::int64_t>();
  AngleRows angles(spec);
  std::vector<std::int64_t> indices;
  for (std::int64_t b = 0; b < rows; ++b) {
    const std::int64_t* row = ids + b * length;
    const double row_length =
        depends_on_length(spec) ? static_cast<double>(*std::max_element(row, row + length) + 1) : 0;
    for (std::int64_t q = 0; q < length; ++q) {
      indices.push_back(angles.index_of(row_length, row[q]));
    }
  }
  const auto shaped = [&](const std::vector<double>& values) {
    return angles.gather(values, indices).view({rows, length, 1, spec.rotary_dims / 2}).to(options);
  };
  return {shaped(angles.cos()), shaped(angles.sin())};
}

at::Tensor rotate(const at::Tensor& x, const RopeTable& table, const RopeSpec& spec) {
  const std::int64_t dims = spec.rotary_dims;
  const std::int64_t pairs = dims / 2;
  const bool half = spec.layout == RopeLayout::half;
  const at::Tensor first = half ? x.narrow(-1, 0, pairs) : x.slice(-1, 0, dims, 2);
  const at::Tensor second = half ? x.narrow(-1, pairs, pairs) : x.slice(-1, 1, dims, 2);
  const at::Tensor turned_first = first * table.cos - second * table.sin;
  const at::Tensor turned_second = second * table.cos + first * table.sin;
  const at::Tensor turned = half ? at::cat({turned_first, turned_second}, -1)
                                 : at::stack({turned_first, turned_second}, -1).flatten(-2);
  if (dims == x.size(-1)) return turned;
  return at::cat({turned, x.narrow(-1, dims, x.size(-1) - dims)}, -1);
}

}  // namespace attnscope
