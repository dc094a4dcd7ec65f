#include <algorithm>
#include <cmath>

#include "attnscope/render/label.h"
#include "attnscope/support/utf8.h"
#include "ink.h"

namespace attnscope {
namespace {

using namespace render;

constexpr int kLongestRowLabel = 16;
constexpr int kTallestColumnLabel = 10;
constexpr int kMostDetailedRows = 64;

// How the cells of a map become characters.
enum class CellShape {
  two_columns,  // one line a row, two columns a cell
  half_block,   // two rows a line, one column a cell
  one_column,   // one line a row, one column a cell: without colours
};

struct Plan {
  CellShape shape = CellShape::two_columns;
  PooledMap pooled;
  int label_width = 0;
};

int row_label_width(const HeatMap& map) {
  int widest = 0;
  for (const std::string& label : map.row_labels) {
    widest = std::max(widest, display_width(token_label(label)));
  }
  return std::min(widest, kLongestRowLabel);
}

Plan plan_of(const HeatMap& map, const TerminalStyle& style) {
  Plan plan{.shape = CellShape::two_columns, .pooled = {}, .label_width = row_label_width(map)};
  const int room = std::max(8, style.columns - plan.label_width - 1);
  if (2 * map.columns <= room && map.rows <= kMostDetailedRows) {
    plan.pooled.map = map;
    return plan;
  }
  plan.shape = style.color == ColorDepth::none ? CellShape::one_column : CellShape::half_block;
  // Blocks are square on the screen, where a character is twice as high as wide.
  const int block = std::max(1, (map.columns + room - 1) / room);
  const bool tall = plan.shape == CellShape::one_column && block > 1;
  const int row_block = tall ? 2 * block : block;
  plan.pooled =
      max_pool(map, (map.rows + row_block - 1) / row_block, (map.columns + block - 1) / block);
  return plan;
}

std::optional<Rgb> color_of(const HeatMap& map, const Scale& scale, int row, int column) {
  if (row >= map.rows || map.is_hidden(row, column)) return std::nullopt;
  return scale.color(map.at(row, column));
}

void put_cell(Ink& ink, const HeatMap& map, const Scale& scale, CellShape shape, ColorDepth depth,
              int row, int column) {
  if (shape == CellShape::half_block) {
    const auto upper = color_of(map, scale, row, column);
    const auto lower = color_of(map, scale, row + 1, column);
    if (upper) {
      ink.put("▀", upper, lower);
    } else {
      ink.put(lower ? "▄" : " ", lower, std::nullopt);
    }
    return;
  }
  const auto color = color_of(map, scale, row, column);
  const std::size_t width = shape == CellShape::two_columns ? 2 : 1;
  const char character =
      depth == ColorDepth::none && color ? density(scale.place(map.at(row, column))) : ' ';
  ink.put(std::string(width, character), std::nullopt, color);
}

bool has_gaps(const HeatMap& map) {
  for (int row = 0; row < map.rows; ++row) {
    for (int column = 0; column < map.columns; ++column) {
      if (!map.is_hidden(row, column) && std::isnan(map.at(row, column))) return true;
    }
  }
  return false;
}

void put_gap_legend(Ink& ink, const Scale& scale, ColorDepth depth) {
  const double gap = std::nan("");
  if (depth == ColorDepth::none) {
    ink.put(std::string(1, density(gap)));
  } else {
    ink.put("  ", std::nullopt, scale.color(gap));
  }
  ink.put(" no value: not asked for, not there, or NaN", std::nullopt, std::nullopt);
  ink.end_line();
}

// A label from top to bottom: each entry is one character with the marks that belong to it.
std::vector<std::string> letters_of(const std::string& label) {
  const std::string text = token_label(label);
  std::vector<std::string> letters;
  for (std::size_t pos = 0; pos < text.size();) {
    const std::size_t begin = pos;
    const bool mark = code_point_width(next_code_point(text, pos)) == 0;
    if (mark && !letters.empty()) {
      letters.back().append(text, begin, pos - begin);
    } else {
      letters.push_back(text.substr(begin, pos - begin));
    }
  }
  if (letters.size() > kTallestColumnLabel) {
    letters.resize(kTallestColumnLabel);
    letters.back() = "…";
  }
  return letters;
}

void put_column_labels(Ink& ink, const HeatMap& map, int label_width, int cell_width) {
  std::vector<std::vector<std::string>> labels;
  std::size_t tallest = 0;
  for (const std::string& label : map.column_labels) {
    labels.push_back(letters_of(label));
    tallest = std::max(tallest, labels.back().size());
  }
  for (std::size_t line = 0; line < tallest; ++line) {
    ink.put(std::string(static_cast<std::size_t>(label_width) + 1, ' '));
    for (const auto& letters : labels) {
      const std::string letter = line < letters.size() ? letters[line] : "";
      ink.put(pad_to_width(letter, cell_width, Align::left));
    }
    ink.end_line();
  }
}

}  // namespace

std::string terminal_heat_map(const HeatMap& given, const TerminalStyle& style) {
  check_heat_map(given);
  const Plan plan = plan_of(given, style);
  const HeatMap& map = plan.pooled.map;
  const Scale scale = map.drawn_scale();
  Ink ink(style.color);
  ink.put(fit_width(escape_untrusted(map.title), style.columns));
  ink.end_line();
  const int rows_a_line = plan.shape == CellShape::half_block ? 2 : 1;
  for (int row = 0; row < map.rows; row += rows_a_line) {
    const std::string label =
        map.row_labels.empty() ? "" : token_label(map.row_labels[static_cast<std::size_t>(row)]);
    ink.put(pad_to_width(label, plan.label_width, Align::right) + " ");
    for (int column = 0; column < map.columns; ++column) {
      put_cell(ink, map, scale, plan.shape, style.color, row, column);
    }
    ink.end_line();
  }
  put_column_labels(ink, map, plan.label_width, plan.shape == CellShape::two_columns ? 2 : 1);
  put_legend(ink, scale, map.value_name, style);
  if (has_gaps(map)) {
    put_gap_legend(ink, scale, style.color);
  }
  if (plan.pooled.row_block > 1 || plan.pooled.column_block > 1) {
    ink.put("note: each cell is the largest of " + std::to_string(plan.pooled.row_block) + " × " +
            std::to_string(plan.pooled.column_block) + " values, to fit " +
            std::to_string(style.columns) + " columns");
    ink.end_line();
  }
  for (const std::string& line : map.caption) {
    ink.put(fit_width(escape_untrusted(line, 4 * line.size() + 4), style.columns));
    ink.end_line();
  }
  return ink.text();
}

}  // namespace attnscope
