// File: heat_map.h
// What is drawn: one table of numbers with its labels, or several of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/render/color_map.h"
#include "attnscope/sites/selectors.h"

namespace attnscope {

// Cells that are left blank because they cannot hold anything.
enum class HiddenCells { none, above_diagonal };  // above_diagonal: key position > query position

// Whether pictures write the values into the cells.
enum class CellText { none, numbers };

// One head's map, or any other table. Labels are text as it is; what draws them escapes it.
struct HeatMap {
  int rows = 0;
  int columns = 0;
  std::vector<float> values;               // [rows columns], for a head [q k]; NaN = missing
  std::vector<std::string> row_labels;     // [rows] query tokens; may be empty
  std::vector<std::string> column_labels;  // [columns] key tokens; may be empty
  std::vector<int> row_positions;          // [rows] stored token index; empty = 0, 1, …
  std::vector<int> column_positions;       // [columns]
  HiddenCells hidden = HiddenCells::none;
  CellText cell_text = CellText::none;

  std::string title;                 // "head 5.1"
  std::string row_title;             // "query token (reads)"
  std::string column_title;          // "key token (is read)"
  std::string value_name;            // "attention weight"
  std::vector<std::string> caption;  // lines: model, prompt, hook
  std::optional<Scale> scale;        // nothing: automatic_scale of the cells that are drawn

  float at(int row, int column) const {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                  static_cast<std::size_t>(column)];
  }
  int row_position(int row) const;
  int column_position(int column) const;
  bool is_hidden(int row, int column) const;
  Scale drawn_scale() const;
};

// Throws Error RN01 (a bug of the caller) when sizes of the parts differ.
void check_heat_map(const HeatMap& map);

// Each cell of the result is the largest of a block of cells that are drawn, so that no peak is
// lost. At most `max_rows` × `max_columns`; a map that fits is returned as it is.
struct PooledMap {
  HeatMap map;
  int row_block = 1;     // rows in one cell
  int column_block = 1;  // columns in one cell
};
PooledMap max_pool(const HeatMap& map, int max_rows, int max_columns);

// Many heads in one picture, in rows of `columns` maps. All share one scale and one caption. A map
// without rows leaves its place blank: layers may have unequal numbers of heads.
struct HeatMapGrid {
  std::vector<HeatMap> maps;
  int columns = 1;
  std::string title;                 // "all heads of layers 0-3"
  std::vector<std::string> caption;  // lines

  bool is_blank(std::size_t index) const { return maps[index].rows == 0; }
};

// A statistic of every head: layer × head.
struct HeadGrid {
  std::string statistic;      // "induction"
  std::vector<int> layers;    // [l] their numbers, may have gaps
  int heads = 0;              // h: most heads of one layer
  std::vector<float> values;  // [l h]; NaN = not defined, or no such head
  Stack stack = Stack::self;
};

struct RankedHead {
  HeadId head;
  float value = 0;
};

enum class Order { largest_first, smallest_first };

// The first `count` heads by value; NaN is left out; equal values by layer and head.
std::vector<RankedHead> top_heads(const HeadGrid& grid, int count, Order order);

// The grid as a table with layers as rows, for the writers of pictures and tables.
HeatMap heat_map_of(const HeadGrid& grid);

}  // namespace attnscope
