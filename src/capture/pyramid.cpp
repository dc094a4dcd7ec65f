#include "pyramid.h"

#include <ATen/ATen.h>

namespace attnscope {
namespace {

constexpr std::int64_t kStep = 4;
constexpr std::int64_t kFlatTokens = 1024;
constexpr std::int64_t kTopSide = 256;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

at::Tensor pool_max(const at::Tensor& x) {
  return at::max_pool2d(x, {kStep, kStep}, {kStep, kStep}, {0, 0}, {1, 1}, /*ceil_mode=*/true);
}

// Sums, not means: squares at the edge have fewer cells.
at::Tensor pool_sum(const at::Tensor& x) {
  return at::avg_pool2d(x, {kStep, kStep}, {kStep, kStep}, {0, 0}, /*ceil_mode=*/true,
                        /*count_include_pad=*/false, /*divisor_override=*/1);
}

// Cells of the map in each square along one axis.
at::Tensor extents(std::int64_t tokens, std::int64_t factor) {
  const std::int64_t n = ceil_div(tokens, factor);
  at::Tensor out = at::full({n}, static_cast<double>(factor), at::kFloat);
  out[n - 1] = static_cast<double>(tokens - (n - 1) * factor);
  return out;
}

}  // namespace

bool has_pyramid(std::int64_t tokens) {
  return tokens > kFlatTokens;
}

std::vector<std::int64_t> pyramid_factors(std::int64_t tokens) {
  std::vector<std::int64_t> factors;
  for (std::int64_t f = kStep; has_pyramid(tokens); f *= kStep) {
    factors.push_back(f);
    if (ceil_div(tokens, f) <= kTopSide) break;
  }
  return factors;
}

std::uint64_t pyramid_bytes(std::int64_t heads, std::int64_t tokens) {
  std::int64_t values = 0;
  for (const std::int64_t f : pyramid_factors(tokens)) {
    values += 2 * heads * ceil_div(tokens, f) * ceil_div(tokens, f);
  }
  return static_cast<std::uint64_t>(values) * sizeof(float);
}

PyramidBuilder::PyramidBuilder(std::int64_t heads, std::int64_t tokens) : tokens_(tokens) {
  const std::int64_t side = ceil_div(tokens, kStep);
  largest_ = at::zeros({heads, side, side}, at::kFloat);
  sum_ = at::zeros({heads, side, side}, at::kFloat);
}

void PyramidBuilder::add(const at::Tensor& rows, std::int64_t q_begin) {
  const at::Tensor block = rows.to(at::kFloat);
  const std::int64_t first = q_begin / kStep;
  const std::int64_t count = ceil_div(block.size(1), kStep);
  largest_.narrow(1, first, count).copy_(pool_max(block));
  sum_.narrow(1, first, count).copy_(pool_sum(block));
}

std::vector<PyramidPart> PyramidBuilder::finish() const {
  std::vector<PyramidPart> parts;
  at::Tensor largest = largest_;
  at::Tensor sum = sum_;
  for (const std::int64_t factor : pyramid_factors(tokens_)) {
    if (factor > kStep) {
      largest = pool_max(largest);
      sum = pool_sum(sum);
    }
    const at::Tensor side = extents(tokens_, factor);
    const at::Tensor cells = side.unsqueeze(1) * side.unsqueeze(0);
    parts.push_back({Pooling::max, factor, largest.contiguous()});
    parts.push_back({Pooling::mean, factor, (sum / cells).contiguous()});
  }
  return parts;
}

}  // namespace attnscope
