#include "console/table.h"

#include <algorithm>

namespace attnscope::console {

std::string Table::text_of(const std::vector<Column>& columns, std::size_t rows,
                           const std::function<Row(std::size_t)>& row) {
  std::vector<int> widths;
  Row titles;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    widths.push_back(display_width(column.title));
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const Row cells = row(r);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      widths[c] = std::max(widths[c], display_width(cells.at(c)));
    }
  }
  std::string out;
  const auto add_line = [&](const Row& cells) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) line += "  ";
      line += pad_to_width(cells[c], widths[c], columns[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line(titles);
  for (std::size_t r = 0; r < rows; ++r) add_line(row(r));
  return out;
}

std::string Table::text() const {
  return text_of(columns_, rows_.size(), [this](std::size_t r) { return rows_[r]; });
}

}  // namespace attnscope::console
