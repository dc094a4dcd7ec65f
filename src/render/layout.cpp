#include "layout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "attnscope/render/label.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::render {
namespace {

constexpr int kLongestLabel = 18;     // letters
constexpr double kSmallestLabel = 8;  // size that can still be read
constexpr double kLargestLabel = 12;
constexpr double kLabelGap = 6;
constexpr double kBarWidth = 14;
constexpr double kLineHeight = 1.45;

std::string short_label(const std::string& text) {
  return fit_width(token_label(text), kLongestLabel);
}

double widest_label(const std::vector<std::string>& labels, double size) {
  double widest = 0;
  for (const std::string& label : labels) {
    widest = std::max(widest, text_width(short_label(label), size));
  }
  return widest == 0 ? 0 : widest + kLabelGap;
}

// Short labels, such as head numbers, need not be turned.
bool column_labels_lie(const HeatMap& map, const MapLook& look) {
  return widest_label(map.column_labels, look.label_size) < look.cell_width;
}

// A number with few digits, for cells and ticks.
std::string short_number(double value) {
  return format_number(value, 3);
}

// With two decimals, fewer for large values.
std::string cell_number(float value) {
  char buffer[64];
  const int decimals = std::abs(value) < 9.995F ? 2 : std::abs(value) < 99.95F ? 1 : 0;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<double>(value),
                                 std::chars_format::fixed, decimals);
  const std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
  // "-0.00" would claim a sign that the digits do not show.
  const bool is_zero = text.find_first_not_of("-0.") == std::string_view::npos;
  return std::string(text.substr(is_zero && text.front() == '-' ? 1 : 0));
}

void draw_cells(Scene& scene, const HeatMap& map, const Scale& scale, const MapLook& look,
                Corner corner) {
  Cells cells{.x = corner.x,
              .y = corner.y,
              .cell_width = look.cell_width,
              .cell_height = look.cell_height,
              .gap = look.gap,
              .rows = map.rows,
              .columns = map.columns,
              .colors = {}};
  for (int row = 0; row < map.rows; ++row) {
    for (int column = 0; column < map.columns; ++column) {
      std::optional<Rgb> color;
      if (!map.is_hidden(row, column)) color = scale.color(map.at(row, column));
      cells.colors.push_back(color);
    }
  }
  scene.shapes.push_back(std::move(cells));
}

void draw_numbers(Scene& scene, const HeatMap& map, const Scale& scale, const MapLook& look,
                  Corner corner) {
  const double size = std::min(kSmallSize, look.cell_height * 0.45);
  for (int row = 0; row < map.rows; ++row) {
    for (int column = 0; column < map.columns; ++column) {
      const float value = map.at(row, column);
      if (map.is_hidden(row, column) || std::isnan(value)) continue;
      scene.shapes.push_back(Text{.x = corner.x + (column + 0.5) * look.cell_width - look.gap / 2,
                                  .y = corner.y + (row + 0.5) * look.cell_height + 0.32 * size,
                                  .text = cell_number(value),
                                  .size = size,
                                  .anchor = Anchor::middle,
                                  .color = text_color_on(scale.color(value))});
    }
  }
}

void draw_row_labels(Scene& scene, const HeatMap& map, const MapLook& look, Corner corner) {
  for (std::size_t i = 0; i < map.row_labels.size();
       i += static_cast<std::size_t>(look.label_step)) {
    const double middle = corner.y + (static_cast<double>(i) + 0.5) * look.cell_height;
    scene.shapes.push_back(Text{.x = corner.x - kLabelGap,
                                .y = middle - look.gap / 2 + 0.33 * look.label_size,
                                .text = short_label(map.row_labels[i]),
                                .size = look.label_size,
                                .anchor = Anchor::end,
                                .color = kInk});
  }
}

void draw_column_labels(Scene& scene, const HeatMap& map, const MapLook& look, Corner corner) {
  const double below = corner.y + map.rows * look.cell_height + kLabelGap - look.gap;
  const bool lie = column_labels_lie(map, look);
  for (std::size_t i = 0; i < map.column_labels.size();
       i += static_cast<std::size_t>(look.label_step)) {
    const double middle = corner.x + (static_cast<double>(i) + 0.5) * look.cell_width;
    Text label{.x = middle - look.gap / 2,
               .y = below,
               .text = short_label(map.column_labels[i]),
               .size = look.label_size,
               .anchor = Anchor::middle,
               .color = kInk};
    if (lie) {
      label.y += 0.7 * look.label_size;
    } else {
      label.x += 0.33 * look.label_size;
      label.anchor = Anchor::end;
      label.direction = Direction::upwards;
    }
    scene.shapes.push_back(std::move(label));
  }
}

std::vector<std::string> wrap(std::string_view line, int letters) {
  std::vector<std::string> wrapped;
  std::string current;
  for (const std::string& word : split(line, ' ')) {
    const bool fits = display_width(current) + 1 + display_width(word) <= letters;
    if (!current.empty() && !fits) {
      wrapped.push_back(current);
      current.clear();
    }
    if (!current.empty()) current += ' ';
    current += fit_width(word, letters);
  }
  wrapped.push_back(current);
  return wrapped;
}

const char* color_map_name(ColorMap map) {
  switch (map) {
    case ColorMap::viridis:
      return "viridis";
    case ColorMap::cividis:
      return "cividis";
    case ColorMap::diverging:
      break;
  }
  return "blue to red";
}

}  // namespace

MapLook look_of(const HeatMap& map, double cell, Labels labels) {
  MapLook look{.cell_width = cell, .cell_height = cell, .gap = cell >= 12 ? 1.0 : 0.0};
  if (map.cell_text == CellText::numbers) look.cell_width = std::max(cell, 40.0);
  if (labels == Labels::left_out) return look;
  look.label_size = std::clamp(cell * 0.85, kSmallestLabel, kLargestLabel);
  look.label_step = std::max(1, static_cast<int>(std::ceil(kSmallestLabel / cell)));
  look.labels_width = widest_label(map.row_labels, look.label_size);
  look.labels_height = column_labels_lie(map, look)
                           ? look.label_size + kLabelGap
                           : widest_label(map.column_labels, look.label_size);
  return look;
}

void draw_map(Scene& scene, const HeatMap& map, const Scale& scale, const MapLook& look,
              Corner corner, Edges edges) {
  draw_cells(scene, map, scale, look, corner);
  if (map.cell_text == CellText::numbers) draw_numbers(scene, map, scale, look, corner);
  if (edges == Edges::left || edges == Edges::both) draw_row_labels(scene, map, look, corner);
  if (edges == Edges::below || edges == Edges::both) draw_column_labels(scene, map, look, corner);
}

double draw_color_bar(Scene& scene, const Scale& scale, const std::string& name, Corner corner,
                      double height) {
  constexpr int kSteps = 128;
  Cells bar{.x = corner.x,
            .y = corner.y,
            .cell_width = kBarWidth,
            .cell_height = height / kSteps,
            .rows = kSteps,
            .columns = 1,
            .colors = {}};
  for (int i = 0; i < kSteps; ++i) {
    bar.colors.emplace_back(color_at(scale.map, 1 - (i + 0.5) / kSteps));
  }
  scene.shapes.push_back(std::move(bar));
  const Ticks ticks =
      round_ticks(scale.low, scale.high, std::clamp(static_cast<int>(height / 30), 2, 6));
  double widest = 0;
  for (int i = 0; i < ticks.count; ++i) {
    const double y = corner.y + height * (1 - scale.place(ticks.at(i)));
    const double right = corner.x + kBarWidth;
    const std::string text = short_number(std::abs(ticks.at(i)) < ticks.step / 2 ? 0 : ticks.at(i));
    widest = std::max(widest, text_width(text, kSmallSize));
    scene.shapes.push_back(
        Line{.x1 = right + 1, .y1 = y, .x2 = right + 4, .y2 = y, .width = 1, .color = kSoftInk});
    scene.shapes.push_back(Text{.x = right + 8,
                                .y = y + 0.33 * kSmallSize,
                                .text = text,
                                .size = kSmallSize,
                                .color = kInk});
  }
  const double name_x = corner.x + kBarWidth + 8 + widest + 8 + kSmallSize;
  scene.shapes.push_back(Text{.x = name_x,
                              .y = corner.y + height / 2,
                              .text = escape_untrusted(name),
                              .size = kSmallSize,
                              .anchor = Anchor::middle,
                              .direction = Direction::upwards,
                              .color = kSoftInk});
  return name_x + 4 - corner.x;
}

double draw_caption(Scene& scene, const std::vector<std::string>& lines, Corner corner,
                    double width) {
  const int letters = std::max(20, static_cast<int>(width / (kLetterWidth * kSmallSize)));
  double y = corner.y;
  for (const std::string& line : lines) {
    for (const std::string& part : wrap(escape_untrusted(line, 4 * line.size() + 4), letters)) {
      y += kLineHeight * kSmallSize;
      scene.shapes.push_back(
          Text{.x = corner.x, .y = y, .text = part, .size = kSmallSize, .color = kSoftInk});
    }
  }
  return y - corner.y;
}

void draw_title(Scene& scene, const std::string& title, Corner corner) {
  scene.shapes.push_back(Text{.x = corner.x,
                              .y = corner.y + kTitleSize,
                              .text = escape_untrusted(title),
                              .size = kTitleSize,
                              .weight = Weight::bold,
                              .color = kInk});
}

std::string scale_line(const Scale& scale, const std::string& value_name) {
  return "color: " + value_name + " from " + short_number(scale.low) + " to " +
         short_number(scale.high) + " (" + color_map_name(scale.map) + ")";
}

std::vector<std::string> pooling_line(const PooledMap& pooled) {
  if (pooled.row_block == 1 && pooled.column_block == 1) return {};
  return {"each cell is the largest of " + std::to_string(pooled.row_block) + " × " +
          std::to_string(pooled.column_block) + " values"};
}

}  // namespace attnscope::render
