// File: picture.h
// Heat maps and scatter plots as pictures. The same drawing gives the same bytes.
#pragma once

#include <string>

#include "attnscope/render/heat_map.h"
#include "attnscope/render/scatter.h"

namespace attnscope {

enum class PictureFormat {
  png,  // labels in a small built-in font for ASCII; other characters are boxes
  svg,  // full text
};

// The bytes of a picture: the map with token labels, a colour bar and the caption. Maps of more
// than 1600 rows or columns are pooled by the largest value, and the caption says so.
std::string draw_picture(const HeatMap& map, PictureFormat format);

// A grid of heads on one scale. Token labels stand at the outer edge where there is room for them.
std::string draw_picture(const HeatMapGrid& grid, PictureFormat format);

// Points with their intervals: causal ones filled, those without effect crossed, undetermined ones
// hollow; names where there is room.
std::string draw_picture(const ScatterPlot& plot, PictureFormat format);

}  // namespace attnscope
