#include <algorithm>
#include <charconv>
#include <cmath>

#include "attnscope/render/label.h"
#include "attnscope/support/text.h"
#include "ink.h"

namespace attnscope {
namespace {

using namespace render;

constexpr int kLayerWidth = 10;  // "layer 123 "

// Values for people: two decimals below 10, fewer above; always five columns at most.
std::string short_value(float value) {
  char buffer[64];
  const int decimals = std::abs(value) < 9.995F ? 2 : std::abs(value) < 999.5F ? 1 : 0;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<double>(value),
                                 std::chars_format::fixed, decimals);
  return {buffer, end.ptr};
}

int cell_width_for(int heads, int columns) {
  const int room = columns - kLayerWidth;
  if (6 * heads <= room) return 6;
  return 2 * heads <= room ? 2 : 1;
}

void put_cell(Ink& ink, float value, const Scale& scale, int width, ColorDepth depth) {
  if (std::isnan(value)) {
    ink.put(pad_to_width(width == 6 ? "–  " : "–", width, Align::right), std::nullopt,
            std::nullopt);
    return;
  }
  const Rgb color = scale.color(value);
  std::string text(static_cast<std::size_t>(width), ' ');
  if (width == 6) {
    text = pad_to_width(short_value(value), 5, Align::right) + " ";
  } else if (depth == ColorDepth::none) {
    text.assign(static_cast<std::size_t>(width), density(scale.place(value)));
  }
  ink.put(text, text_color_on(color), color);
}

}  // namespace

std::string terminal_head_grid(const HeadGrid& grid, const TerminalStyle& style) {
  const HeatMap map = heat_map_of(grid);
  check_heat_map(map);
  const Scale scale = map.drawn_scale();
  const int width = cell_width_for(grid.heads, style.columns);
  Ink ink(style.color);
  ink.put(pad_to_width("head", kLayerWidth, Align::left));
  for (int head = 0; head < grid.heads; ++head) {
    const std::string name = width == 1 ? std::to_string(head % 10) : std::to_string(head);
    ink.put(width == 6 ? pad_to_width(name, 5, Align::right) + " "
                       : pad_to_width(name, width, Align::right));
  }
  ink.end_line();
  for (int row = 0; row < map.rows; ++row) {
    ink.put(pad_to_width("layer " + map.row_labels[static_cast<std::size_t>(row)], kLayerWidth,
                         Align::left));
    for (int head = 0; head < grid.heads; ++head) {
      put_cell(ink, map.at(row, head), scale, width, style.color);
    }
    ink.end_line();
  }
  put_legend(ink, scale, grid.statistic, style);
  return ink.text();
}

std::string terminal_top_heads(const HeadGrid& grid, int count, const TerminalStyle& style) {
  constexpr int kBar = 24;
  const Scale scale = heat_map_of(grid).drawn_scale();
  Ink ink(style.color);
  int rank = 0;
  for (const RankedHead& ranked : top_heads(grid, count, Order::largest_first)) {
    const int filled = static_cast<int>(std::lround(kBar * scale.place(ranked.value)));
    ink.put(pad_to_width(std::to_string(++rank) + ".", 5, Align::right) + "  " +
            pad_to_width(head_name(ranked.head), 10, Align::left) +
            pad_to_width(format_number(static_cast<double>(ranked.value), 4), 9, Align::right) +
            "  ");
    if (style.color == ColorDepth::none) {
      ink.put(std::string(static_cast<std::size_t>(filled), '#'));
    } else {
      ink.put(std::string(static_cast<std::size_t>(filled), ' '), std::nullopt,
              scale.color(ranked.value));
    }
    ink.end_line();
  }
  return ink.text();
}

}  // namespace attnscope
