// File: picture.h
// Heat maps as pictures. The same map gives the same bytes.
#pragma once

#include <string>

#include "attnscope/render/heat_map.h"

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

}  // namespace attnscope
