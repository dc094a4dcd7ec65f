#include "attnscope/render/heat_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

void check_size(const HeatMap& map, std::string_view part, std::size_t size, int wanted) {
  if (size == static_cast<std::size_t>(wanted)) return;
  throw Error(ErrorKind::internal, "RN01",
              {.where = "heat map " + map.title,
               .what = std::string(part) + " do not fit the map",
               .expected = std::to_string(wanted),
               .got = std::to_string(size)});
}

// Labels and positions of the first row (or column) of each block.
template <typename T>
std::vector<T> every(const std::vector<T>& all, int block) {
  std::vector<T> kept;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(block)) {
    kept.push_back(all[i]);
  }
  return kept;
}

float largest_drawn(const HeatMap& map, int row_begin, int row_end, int column_begin,
                    int column_end) {
  float largest = std::numeric_limits<float>::quiet_NaN();
  for (int row = row_begin; row < row_end; ++row) {
    for (int column = column_begin; column < column_end; ++column) {
      if (map.is_hidden(row, column)) continue;
      const float value = map.at(row, column);
      if (std::isnan(largest) || value > largest) largest = value;
    }
  }
  return largest;
}

std::vector<int> all_positions(int count, const std::vector<int>& given) {
  if (!given.empty()) return given;
  std::vector<int> positions(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) positions[static_cast<std::size_t>(i)] = i;
  return positions;
}

// A block is hidden when all its cells are: its last row comes before its first column. The test
// is_hidden() of the pooled map compares first rows, so the block keeps the position of its last.
std::vector<int> last_of_blocks(const std::vector<int>& positions, int block) {
  std::vector<int> last;
  for (std::size_t i = 0; i < positions.size(); i += static_cast<std::size_t>(block)) {
    last.push_back(positions[std::min(i + static_cast<std::size_t>(block), positions.size()) - 1]);
  }
  return last;
}

}  // namespace

int HeatMap::row_position(int row) const {
  return row_positions.empty() ? row : row_positions[static_cast<std::size_t>(row)];
}

int HeatMap::column_position(int column) const {
  return column_positions.empty() ? column : column_positions[static_cast<std::size_t>(column)];
}

bool HeatMap::is_hidden(int row, int column) const {
  return hidden == HiddenCells::above_diagonal && column_position(column) > row_position(row);
}

Scale HeatMap::drawn_scale() const {
  if (scale) return *scale;
  std::vector<float> drawn;
  drawn.reserve(values.size());
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      if (!is_hidden(row, column)) drawn.push_back(at(row, column));
    }
  }
  return automatic_scale(drawn);
}

void check_heat_map(const HeatMap& map) {
  check_size(map, "values", map.values.size(), map.rows * map.columns);
  if (!map.row_labels.empty()) check_size(map, "row labels", map.row_labels.size(), map.rows);
  if (!map.column_labels.empty()) {
    check_size(map, "column labels", map.column_labels.size(), map.columns);
  }
  if (!map.row_positions.empty()) {
    check_size(map, "row positions", map.row_positions.size(), map.rows);
  }
  if (!map.column_positions.empty()) {
    check_size(map, "column positions", map.column_positions.size(), map.columns);
  }
}

PooledMap max_pool(const HeatMap& map, int max_rows, int max_columns) {
  const auto block_for = [](int count, int most) { return std::max(1, (count + most - 1) / most); };
  PooledMap pooled{.map = {},
                   .row_block = block_for(map.rows, std::max(1, max_rows)),
                   .column_block = block_for(map.columns, std::max(1, max_columns))};
  if (pooled.row_block == 1 && pooled.column_block == 1) {
    pooled.map = map;
    return pooled;
  }
  HeatMap& small = pooled.map;
  small.rows = (map.rows + pooled.row_block - 1) / pooled.row_block;
  small.columns = (map.columns + pooled.column_block - 1) / pooled.column_block;
  for (int row = 0; row < small.rows; ++row) {
    for (int column = 0; column < small.columns; ++column) {
      small.values.push_back(largest_drawn(
          map, row * pooled.row_block, std::min((row + 1) * pooled.row_block, map.rows),
          column * pooled.column_block, std::min((column + 1) * pooled.column_block, map.columns)));
    }
  }
  small.row_labels = every(map.row_labels, pooled.row_block);
  small.column_labels = every(map.column_labels, pooled.column_block);
  small.row_positions =
      last_of_blocks(all_positions(map.rows, map.row_positions), pooled.row_block);
  small.column_positions =
      every(all_positions(map.columns, map.column_positions), pooled.column_block);
  small.hidden = map.hidden;
  small.title = map.title;
  small.row_title = map.row_title;
  small.column_title = map.column_title;
  small.value_name = map.value_name;
  small.caption = map.caption;
  small.scale = map.drawn_scale();
  return pooled;
}

std::vector<RankedHead> top_heads(const HeadGrid& grid, int count, Order order) {
  std::vector<RankedHead> heads;
  for (std::size_t l = 0; l < grid.layers.size(); ++l) {
    for (int h = 0; h < grid.heads; ++h) {
      const float value =
          grid.values[l * static_cast<std::size_t>(grid.heads) + static_cast<std::size_t>(h)];
      if (std::isnan(value)) continue;
      heads.push_back({{.layer = grid.layers[l], .head = h, .stack = grid.stack}, value});
    }
  }
  std::sort(heads.begin(), heads.end(), [order](const RankedHead& a, const RankedHead& b) {
    if (a.value != b.value) {
      return order == Order::largest_first ? a.value > b.value : a.value < b.value;
    }
    return a.head < b.head;
  });
  if (heads.size() > static_cast<std::size_t>(std::max(count, 0))) {
    heads.resize(static_cast<std::size_t>(std::max(count, 0)));
  }
  return heads;
}

HeatMap heat_map_of(const HeadGrid& grid) {
  HeatMap map;
  map.rows = static_cast<int>(grid.layers.size());
  map.columns = grid.heads;
  map.values = grid.values;
  for (const int layer : grid.layers) map.row_labels.push_back(std::to_string(layer));
  for (int head = 0; head < grid.heads; ++head) map.column_labels.push_back(std::to_string(head));
  map.title = grid.statistic + " of every head";
  map.row_title = "layer";
  map.column_title = "head";
  map.value_name = grid.statistic;
  map.cell_text = CellText::numbers;
  return map;
}

}  // namespace attnscope
