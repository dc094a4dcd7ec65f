// File: table.h
// Plain text tables: columns as wide as their widest cell, two spaces between.
#pragma once

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
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Cells must be valid UTF-8 without control characters.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace attnscope::console
