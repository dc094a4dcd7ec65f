// Cells as a grid and back.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "attnscope/storage/experiment.h"

namespace attnscope {
namespace {

struct Axis {
  const char* dim;      // of the grid
  const char* indices;  // integers that hold its indices
};
constexpr std::array<Axis, 3> kAxes{
    {{"layer", "layers"}, {"head", "heads"}, {"position", "positions"}}};
constexpr const char* kCell = "cell";

// One axis of a grid and its indices in order.
struct GridAxis {
  Axis axis;
  std::vector<std::int64_t> indices;
};
using Grid = std::vector<GridAxis>;

std::int64_t cells_in(const Grid& grid) {
  return std::accumulate(grid.begin(), grid.end(), std::int64_t{1},
                         [](std::int64_t n, const GridAxis& axis) {
                           return n * static_cast<std::int64_t>(axis.indices.size());
                         });
}

// Index along axis `a` of each cell, last axis fastest.
std::vector<std::int64_t> unrolled(const Grid& grid, std::size_t a) {
  std::int64_t inner = 1;
  for (std::size_t b = a + 1; b < grid.size(); ++b) {
    inner *= static_cast<std::int64_t>(grid[b].indices.size());
  }
  std::vector<std::int64_t> out(static_cast<std::size_t>(cells_in(grid)));
  const auto extent = static_cast<std::int64_t>(grid[a].indices.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) / inner % extent;
    out[i] = grid[a].indices[static_cast<std::size_t>(at)];
  }
  return out;
}

bool is_by_cell(const std::vector<std::string>& dims) {
  return dims.size() == 1 && dims[0] == kCell;
}

// The grid whose cells, last axis fastest, are those of the record; empty if there is none.
Grid find_grid(const ExperimentRecord& record) {
  const NamedTexts* cells = record.text("cells");
  if (cells == nullptr || !is_by_cell(cells->dims) || cells->values.empty()) return {};
  Grid grid;
  for (const Axis& axis : kAxes) {
    const NamedIntegers* places = record.integer(axis.indices);
    if (places == nullptr || !is_by_cell(places->dims)) return {};
    GridAxis found{axis, places->values};
    std::sort(found.indices.begin(), found.indices.end());
    found.indices.erase(std::unique(found.indices.begin(), found.indices.end()),
                        found.indices.end());
    if (found.indices == std::vector<std::int64_t>{-1}) continue;
    if (found.indices.empty() || found.indices.front() < 0) return {};
    grid.push_back(std::move(found));
  }
  if (grid.size() < 2 || cells_in(grid) != static_cast<std::int64_t>(cells->values.size())) {
    return {};
  }
  for (std::size_t a = 0; a < grid.size(); ++a) {
    if (record.integer(grid[a].axis.indices)->values != unrolled(grid, a)) return {};
  }
  return grid;
}

// Calls `change` with every array of the record.
template <typename Change>
void for_each_array(ExperimentRecord& record, const Change& change) {
  for (NamedArray& array : record.arrays) change(array);
  for (NamedIntegers& array : record.integers) change(array);
  for (NamedTexts& array : record.texts) change(array);
}

// The axes of the grid in place of the cells.
template <typename Named>
void unfold(Named& array, const Grid& grid) {
  const auto cell = std::find(array.dims.begin(), array.dims.end(), kCell);
  if (cell == array.dims.end()) return;
  const auto at = cell - array.dims.begin();
  array.dims.erase(cell);
  array.shape.erase(array.shape.begin() + at);
  for (std::size_t a = grid.size(); a-- > 0;) {
    array.dims.insert(array.dims.begin() + at, grid[a].axis.dim);
    array.shape.insert(array.shape.begin() + at, static_cast<std::int64_t>(grid[a].indices.size()));
  }
}

// The cells in place of the axes of the grid, where all of them are there one after the other.
template <typename Named>
void fold(Named& array, const Grid& grid) {
  const auto same = [](const std::string& dim, const GridAxis& axis) {
    return dim == axis.axis.dim;
  };
  const auto first =
      std::search(array.dims.begin(), array.dims.end(), grid.begin(), grid.end(), same);
  if (first == array.dims.end()) return;
  const auto at = first - array.dims.begin();
  const auto axes = static_cast<std::ptrdiff_t>(grid.size());
  array.dims.erase(first, first + axes);
  array.dims.insert(array.dims.begin() + at, kCell);
  array.shape.erase(array.shape.begin() + at, array.shape.begin() + at + axes);
  array.shape.insert(array.shape.begin() + at, cells_in(grid));
}

// The grid that a file says its cells fill; empty if they are a list.
Grid stored_grid(const ExperimentRecord& record) {
  const NamedTexts* cells = record.text("cells");
  if (cells == nullptr || cells->dims.size() < 2) return {};
  Grid grid;
  for (std::size_t a = 0; a < cells->dims.size(); ++a) {
    const auto axis = std::find_if(kAxes.begin(), kAxes.end(), [&](const Axis& candidate) {
      return cells->dims[a] == candidate.dim;
    });
    if (axis == kAxes.end()) return {};
    const NamedIntegers* indices = record.integer(axis->indices);
    const bool fits = indices != nullptr && indices->dims == std::vector{cells->dims[a]} &&
                      indices->shape == std::vector{cells->shape[a]};
    if (!fits) return {};
    grid.push_back({*axis, indices->values});
  }
  return grid;
}

void remove_integers(ExperimentRecord& record, std::string_view name) {
  std::erase_if(record.integers, [&](const NamedIntegers& array) { return array.name == name; });
}

}  // namespace

ExperimentRecord grid_of_cells(ExperimentRecord record) {
  const Grid grid = find_grid(record);
  if (grid.empty()) return record;
  for (const Axis& axis : kAxes) remove_integers(record, axis.indices);
  for_each_array(record, [&grid](auto& array) { unfold(array, grid); });
  for (const GridAxis& axis : grid) {
    record.integers.push_back({axis.axis.indices,
                               {axis.axis.dim},
                               {static_cast<std::int64_t>(axis.indices.size())},
                               axis.indices});
  }
  return record;
}

ExperimentRecord cells_of_grid(ExperimentRecord record) {
  const Grid grid = stored_grid(record);
  if (grid.empty()) return record;
  for_each_array(record, [&grid](auto& array) { fold(array, grid); });
  const std::int64_t cells = cells_in(grid);
  for (const Axis& axis : kAxes) {
    remove_integers(record, axis.indices);
    std::vector<std::int64_t> places(static_cast<std::size_t>(cells), -1);
    for (std::size_t a = 0; a < grid.size(); ++a) {
      if (grid[a].axis.dim == axis.dim) places = unrolled(grid, a);
    }
    record.integers.push_back({axis.indices, {kCell}, {cells}, std::move(places)});
  }
  return record;
}

}  // namespace attnscope
