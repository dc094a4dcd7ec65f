// An RGB image, and drawing on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scene.h"

namespace attnscope::render {

struct Raster {
  Raster(int width, int height, Rgb background);
  int width, height;
  std::vector<std::uint8_t> pixels;  // [height width 3]

  void blend(int x, int y, Rgb color, double coverage);
  // Both ends rounded to whole pixels.
  void fill(double x0, double y0, double x1, double y1, Rgb color);
};

// Text in the dot font: neighbouring dots are joined by strokes of a round pen, with smooth edges.
void draw_text(Raster& raster, const Text& text, double zoom);
void draw_line(Raster& raster, const Line& line, double zoom);

std::string encode_png(const Raster& raster, double pixels_per_unit);

}  // namespace attnscope::render
