// The parts of a picture and where they go.
#pragma once

#include <string>
#include <vector>

#include "attnscope/render/heat_map.h"
#include "scene.h"

namespace attnscope::render {

inline constexpr Rgb kInk{33, 37, 41};
inline constexpr Rgb kSoftInk{108, 117, 125};
inline constexpr double kMargin = 24;
inline constexpr double kTitleSize = 16;
inline constexpr double kSmallSize = 11;

// Sizes of one map with its labels; labels_width and labels_height are 0 without labels.
struct MapLook {
  double cell_width = 0, cell_height = 0;
  double gap = 0;
  double label_size = 0;
  int label_step = 1;        // every so many rows and columns have a label
  double labels_width = 0;   // left of the cells
  double labels_height = 0;  // below the cells
};

enum class Labels { drawn, left_out };

// `cell` is the side of a cell.
MapLook look_of(const HeatMap& map, double cell, Labels labels);

struct Corner {
  double x = 0, y = 0;
};

// Which labels of a map are drawn.
enum class Edges { none, left, below, both };

// The cells' upper left corner is at `corner`; labels lie outside, to the left and below.
void draw_map(Scene& scene, const HeatMap& map, const Scale& scale, const MapLook& look,
              Corner corner, Edges edges);

// A vertical bar of `height`; returns the width it takes with its numbers and name.
double draw_color_bar(Scene& scene, const Scale& scale, const std::string& name, Corner corner,
                      double height);

// Lines wrapped to `width`; returns the height they take.
double draw_caption(Scene& scene, const std::vector<std::string>& lines, Corner corner,
                    double width);

void draw_title(Scene& scene, const std::string& title, Corner corner);

// "color: attention weight from 0 to 0.98 (viridis)".
std::string scale_line(const Scale& scale, const std::string& value_name);

// "each cell is the largest of 4 × 4 values", or nothing for a map that was not pooled.
std::vector<std::string> pooling_line(const PooledMap& pooled);

}  // namespace attnscope::render
