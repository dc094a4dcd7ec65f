#include <algorithm>
#include <cmath>

#include "raster.h"

namespace attnscope::render {
namespace {

// Pixels a unit: pictures are drawn for dense screens and for print.
constexpr double kZoom = 2;

void draw_cells(Raster& raster, const Cells& cells) {
  for (int row = 0; row < cells.rows; ++row) {
    for (int column = 0; column < cells.columns; ++column) {
      const auto& color = cells.colors[static_cast<std::size_t>(row * cells.columns + column)];
      if (!color) continue;
      const double x = cells.x + column * cells.cell_width;
      const double y = cells.y + row * cells.cell_height;
      raster.fill(x * kZoom, y * kZoom, (x + cells.cell_width - cells.gap) * kZoom,
                  (y + cells.cell_height - cells.gap) * kZoom, *color);
    }
  }
}

// A stroke without length is a round dot.
void draw_disc(Raster& raster, const Disc& disc) {
  const auto dot = [&](double radius, Rgb color) {
    draw_line(raster,
              {.x1 = disc.x,
               .y1 = disc.y,
               .x2 = disc.x,
               .y2 = disc.y,
               .width = 2 * radius,
               .color = color},
              kZoom);
  };
  if (disc.rim > 0) dot(disc.radius, disc.rim_color);
  dot(disc.radius - disc.rim, disc.fill);
}

}  // namespace

Raster::Raster(int raster_width, int raster_height, Rgb background)
    : width(raster_width),
      height(raster_height),
      pixels(3 * static_cast<std::size_t>(raster_width) * static_cast<std::size_t>(raster_height)) {
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    pixels[i] = background.red;
    pixels[i + 1] = background.green;
    pixels[i + 2] = background.blue;
  }
}

void Raster::blend(int x, int y, Rgb color, double coverage) {
  if (x < 0 || y < 0 || x >= width || y >= height || coverage <= 0) return;
  std::uint8_t* pixel = &pixels[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                                     static_cast<std::size_t>(x))];
  const auto mix = [coverage](std::uint8_t old, std::uint8_t fresh) {
    return static_cast<std::uint8_t>(std::lround(old + coverage * (fresh - old)));
  };
  pixel[0] = mix(pixel[0], color.red);
  pixel[1] = mix(pixel[1], color.green);
  pixel[2] = mix(pixel[2], color.blue);
}

void Raster::fill(double x0, double y0, double x1, double y1, Rgb color) {
  const int right = std::min(width, static_cast<int>(std::lround(x1)));
  const int bottom = std::min(height, static_cast<int>(std::lround(y1)));
  for (int y = std::max(0, static_cast<int>(std::lround(y0))); y < bottom; ++y) {
    for (int x = std::max(0, static_cast<int>(std::lround(x0))); x < right; ++x) {
      blend(x, y, color, 1);
    }
  }
}

std::string png_of(const Scene& scene) {
  Raster raster(static_cast<int>(std::ceil(scene.width * kZoom)),
                static_cast<int>(std::ceil(scene.height * kZoom)), scene.background);
  for (const Shape& shape : scene.shapes) {
    if (const auto* cells = std::get_if<Cells>(&shape)) draw_cells(raster, *cells);
    if (const auto* line = std::get_if<Line>(&shape)) draw_line(raster, *line, kZoom);
    if (const auto* text = std::get_if<Text>(&shape)) draw_text(raster, *text, kZoom);
    if (const auto* disc = std::get_if<Disc>(&shape)) draw_disc(raster, *disc);
  }
  return encode_png(raster, kZoom);
}

}  // namespace attnscope::render
