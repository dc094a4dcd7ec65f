#include "pyramid.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace attnscope {
namespace {

constexpr std::int64_t kStep = 4;

at::Tensor pool_max(const at::Tensor& x) {
  return at::max_pool2d(x, {kStep, kStep}, {kStep, kStep}, {0, 0}, {1, 1}, /*ceil_mode=*/true);
}

// Sums, not means: squares at the edge have fewer cells.
at::Tensor pool_sum(const at::Tensor& x) {
  return at::avg_pool2d(x, {kStep, kStep}, {kStep, kStep}, {0, 0}, /*ceil_mode=*/true,
                        /*count_include_pad=*/false, /*divisor_override=*/1);
}

// Cells of the map along one axis of squares [first, first + count): the last may have fewer.
at::Tensor extents(std::int64_t tokens, std::int64_t factor, std::int64_t first,
                   std::int64_t count) {
  at::Tensor out = at::full({count}, static_cast<double>(factor), at::kFloat);
  const std::int64_t end = (first + count) * factor;
  if (end > tokens) out[count - 1] = static_cast<double>(factor - (end - tokens));
  return out;
}

std::uint64_t values_of(const TileGrid& grid) {
  std::int64_t values = 0;
  for (const Tile& tile : grid.tiles()) values += tile.heads * tile.queries * tile.keys;
  return static_cast<std::uint64_t>(values);
}

}  // namespace

std::uint64_t pyramid_bytes(const MapSpec& map) {
  std::uint64_t values = 0;
  for (const std::int64_t factor : pyramid_factors(map)) {
    values += 2 * values_of(TileGrid(pyramid_map(map, factor)));
  }
  return values * sizeof(float);
}

std::uint64_t pyramid_held_bytes(const MapSpec& map) {
  std::int64_t values = 0;
  for (const std::int64_t factor : pyramid_factors(map)) {
    const MapSpec level = pyramid_map(map, factor);
    values += 2 * level.heads * TileGrid(level).tile_queries() * level.keys;
  }
  return static_cast<std::uint64_t>(values) * sizeof(float);
}

PyramidBuilder::PyramidBuilder(const MapSpec& map) : map_(map) {
  for (const std::int64_t factor : pyramid_factors(map)) {
    const MapSpec level = pyramid_map(map, factor);
    levels_.push_back({.factor = factor,
                       .rows = level.queries,
                       .columns = level.keys,
                       .strip_rows = TileGrid(level).tile_queries()});
  }
}

std::vector<PyramidStrip> PyramidBuilder::add(const at::Tensor& rows) {
  std::vector<PyramidStrip> finished;
  const at::Tensor block = rows.to(at::kFloat);
  pool(0, block, block, finished);
  return finished;
}

void PyramidBuilder::pool(std::size_t index, const at::Tensor& largest, const at::Tensor& sum,
                          std::vector<PyramidStrip>& finished) {
  Level& level = levels_[index];
  const at::Tensor pooled_max = pool_max(largest);
  const at::Tensor pooled_sum = pool_sum(sum);
  for (std::int64_t taken = 0; taken < pooled_max.size(1);) {
    const std::int64_t in_strip = level.done % level.strip_rows;
    const std::int64_t height = std::min(level.strip_rows, level.rows - (level.done - in_strip));
    if (in_strip == 0) {
      level.largest = at::empty({map_.heads, height, level.columns}, at::kFloat);
      level.sum = at::empty_like(level.largest);
    }
    const std::int64_t n = std::min(pooled_max.size(1) - taken, height - in_strip);
    level.largest.narrow(1, in_strip, n).copy_(pooled_max.narrow(1, taken, n));
    level.sum.narrow(1, in_strip, n).copy_(pooled_sum.narrow(1, taken, n));
    taken += n;
    level.done += n;
    if (in_strip + n == height) finish_strip(index, finished);
  }
}

void PyramidBuilder::finish_strip(std::size_t index, std::vector<PyramidStrip>& finished) {
  Level& level = levels_[index];
  const at::Tensor largest = std::exchange(level.largest, {});
  at::Tensor sum = std::exchange(level.sum, {});
  const std::int64_t first = level.done - largest.size(1);
  const at::Tensor cells =
      extents(map_.queries, level.factor, first, largest.size(1)).unsqueeze(1) *
      extents(map_.keys, level.factor, 0, level.columns).unsqueeze(0);
  // Sums become means in place, once the next level has them.
  if (index + 1 < levels_.size()) pool(index + 1, largest, sum, finished);
  finished.push_back({Pooling::max, level.factor, first, largest});
  finished.push_back({Pooling::mean, level.factor, first, sum.div_(cells)});
}

}  // namespace attnscope
