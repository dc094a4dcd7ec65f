#include "console/table.h"

#include <algorithm>

namespace attnscope::console {

std::string Table::text() const {
  std::vector<int> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      widths[c] = std::max(widths[c], display_width(row.at(c)));
    }
  }
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      line += pad_to_width(cell_of(c), widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](std::size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) add_line([&](std::size_t c) { return row[c]; });
  return out;
}

}  // namespace attnscope::console
