#include "console/table.h"

#include <algorithm>

#include "console/wrap.h"

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

std::vector<Table::Row> Table::wrapped_rows(int columns) const {
  constexpr int kLeast = 24;  // of a column that is worth wrapping
  int before = 0;
  for (std::size_t c = 0; c + 1 < columns_.size(); ++c) {
    int width = display_width(columns_[c].title);
    for (const Row& row : rows_) width = std::max(width, display_width(row[c]));
    before += width + 2;
  }
  if (columns - before < kLeast) return rows_;
  std::vector<Row> rows;
  for (const Row& row : rows_) {
    Row next = row;
    for (std::string& line : wrapped_lines(row.back(), columns - before)) {
      next.back() = std::move(line);
      rows.push_back(next);
      std::fill(next.begin(), next.end(), "");
    }
  }
  return rows;
}

std::string Table::text(int columns) const {
  const std::vector<Row> rows = wrapped_rows(columns);
  return text_of(columns_, rows.size(), [&](std::size_t r) { return rows[r]; });
}

}  // namespace attnscope::console
