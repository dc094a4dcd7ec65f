// File: terminal.h
// Heat maps as text for a terminal.
//
// Example:
//   std::cout << terminal_heat_map(map, terminal_style_of(STDOUT_FILENO));
#pragma once

#include <string>

#include "attnscope/render/heat_map.h"

namespace attnscope {

enum class ColorDepth {
  none,        // characters of growing density
  colors_256,  // the 6×6×6 cube and the greys
  true_color,  // 24 bits
};

struct TerminalStyle {
  ColorDepth color = ColorDepth::none;
  int columns = 100;  // width of the terminal
};

// Colour is off when NO_COLOR is set and not empty, when TERM is "dumb", and when `fd` is no
// terminal (unless CLICOLOR_FORCE is set and not 0). COLORTERM truecolor or 24bit, or a TERM that
// ends with "-direct", means 24 bits. COLUMNS overrides the width that the terminal reports.
TerminalStyle terminal_style_of(int fd);

// One head with its tokens. A map that fits has one line a row and two columns a cell; a larger
// one has half blocks, and one too wide for the terminal is pooled by the largest value, with a
// note that says so.
std::string terminal_heat_map(const HeatMap& map, const TerminalStyle& style);

// A statistic of every head: layers downwards, heads across, with a legend. Numbers stand in the
// cells where the terminal is wide enough.
std::string terminal_head_grid(const HeadGrid& grid, const TerminalStyle& style);

// "  1.  5.1  0.994" a line, with a bar.
std::string terminal_top_heads(const HeadGrid& grid, int count, const TerminalStyle& style);

}  // namespace attnscope
