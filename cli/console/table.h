// File: table.h
// Plain text tables: columns as wide as their widest cell, two spaces between.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/render/label.h"

namespace attnscope::console {

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  using Row = std::vector<std::string>;

  // A table whose rows are made when they are needed, twice each, and never held together.
  static std::string text_of(const std::vector<Column>& columns, std::size_t rows,
                             const std::function<Row(std::size_t)>& row);

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Cells must be valid UTF-8 without control characters.
  void add(Row cells) { rows_.push_back(std::move(cells)); }
  // Where it is wider than `columns`, the last column is wrapped, if there is room for that; 0: no
  // wrapping.
  std::string text(int columns = 0) const;

 private:
  std::vector<Row> wrapped_rows(int columns) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace attnscope::console
