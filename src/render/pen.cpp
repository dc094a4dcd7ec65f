#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "attnscope/render/label.h"
#include "attnscope/support/utf8.h"
#include "glyphs.h"
#include "raster.h"

namespace attnscope::render {
namespace {

struct Point {
  double x = 0, y = 0;
};

struct Stroke {
  Point from, to;
};

// Joins dots that touch; two dots at a corner are joined only when no dot beside them does it.
std::vector<Stroke> strokes_of(char32_t code_point) {
  std::vector<Stroke> strokes;
  const auto dot = [&](int row, int column) { return glyph_dot(code_point, row, column); };
  for (int row = 0; row < kGlyphHeight; ++row) {
    for (int column = 0; column < kGlyphWidth; ++column) {
      if (!dot(row, column)) continue;
      const Point here{static_cast<double>(column), static_cast<double>(row)};
      strokes.push_back({here, here});
      if (dot(row, column + 1)) strokes.push_back({here, {here.x + 1, here.y}});
      if (dot(row + 1, column)) strokes.push_back({here, {here.x, here.y + 1}});
      for (const int side : {-1, 1}) {
        if (dot(row + 1, column + side) && !dot(row, column + side) && !dot(row + 1, column)) {
          strokes.push_back({here, {here.x + side, here.y + 1}});
        }
      }
    }
  }
  return strokes;
}

double distance_to(const Stroke& stroke, Point p) {
  const double dx = stroke.to.x - stroke.from.x, dy = stroke.to.y - stroke.from.y;
  const double length2 = dx * dx + dy * dy;
  double t = 0;
  if (length2 > 0) {
    t = std::clamp(((p.x - stroke.from.x) * dx + (p.y - stroke.from.y) * dy) / length2, 0.0, 1.0);
  }
  return std::hypot(p.x - stroke.from.x - t * dx, p.y - stroke.from.y - t * dy);
}

// Where the dots of a glyph lie on the raster.
struct Placement {
  Point origin;     // base line, left edge of the glyph's first column
  double unit = 1;  // pixels from dot to dot
  bool upwards = false;

  Point at(Point dot) const {
    const double along = (dot.x + 0.5) * unit;
    const double above = (kGlyphBaseline - 0.5 - dot.y) * unit;
    return upwards ? Point{origin.x - above, origin.y - along}
                   : Point{origin.x + along, origin.y - above};
  }
};

void draw_strokes(Raster& raster, std::vector<Stroke> strokes, double radius, Rgb color) {
  if (strokes.empty()) return;
  double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
  for (const Stroke& s : strokes) {
    for (const Point p : {s.from, s.to}) {
      left = std::min(left, p.x);
      right = std::max(right, p.x);
      top = std::min(top, p.y);
      bottom = std::max(bottom, p.y);
    }
  }
  const double reach = radius + 1;
  for (int y = static_cast<int>(std::floor(top - reach)); y <= bottom + reach; ++y) {
    for (int x = static_cast<int>(std::floor(left - reach)); x <= right + reach; ++x) {
      double nearest = 1e9;
      for (const Stroke& s : strokes)
        nearest = std::min(nearest, distance_to(s, {x + 0.5, y + 0.5}));
      raster.blend(x, y, color, std::clamp(radius + 0.5 - nearest, 0.0, 1.0));
    }
  }
}

}  // namespace

void draw_text(Raster& raster, const Text& text, double zoom) {
  const double unit = text.size * zoom / 10;
  const double radius = unit * (text.weight == Weight::bold ? 0.68 : 0.5);
  const bool upwards = text.direction == Direction::upwards;
  const double share = text.anchor == Anchor::start ? 0 : text.anchor == Anchor::middle ? 0.5 : 1;
  const double shift = -share * text_width(text.text, text.size) * zoom;
  Placement place{
      .origin = {text.x * zoom + (upwards ? 0 : shift), text.y * zoom - (upwards ? shift : 0)},
      .unit = unit,
      .upwards = upwards};
  for (std::size_t pos = 0; pos < text.text.size();) {
    const char32_t code_point = next_code_point(text.text, pos);
    const int width = code_point_width(code_point);
    if (width == 0) continue;
    std::vector<Stroke> strokes = strokes_of(code_point);
    for (Stroke& s : strokes) s = {place.at(s.from), place.at(s.to)};
    draw_strokes(raster, std::move(strokes), radius, text.color);
    const double advance = width * kLetterWidth * text.size * zoom;
    (upwards ? place.origin.y : place.origin.x) += upwards ? -advance : advance;
  }
}

void draw_line(Raster& raster, const Line& line, double zoom) {
  draw_strokes(raster, {{{line.x1 * zoom, line.y1 * zoom}, {line.x2 * zoom, line.y2 * zoom}}},
               line.width * zoom / 2, line.color);
}

}  // namespace attnscope::render
