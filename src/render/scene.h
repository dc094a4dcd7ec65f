// A drawing as data: shapes in order, in units of one CSS pixel. Layouts make scenes; one writer
// for each file format turns them into bytes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attnscope/render/color_map.h"

namespace attnscope::render {

enum class Anchor { start, middle, end };
enum class Direction { rightwards, upwards };
enum class Weight { normal, bold };

// Text on a base line through (x, y). Letters are 0.6 of `size` wide in every format.
struct Text {
  double x = 0, y = 0;
  std::string text;  // valid UTF-8, one line
  double size = 12;
  Anchor anchor = Anchor::start;
  Direction direction = Direction::rightwards;
  Weight weight = Weight::normal;
  Rgb color{};
};

struct Line {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  double width = 1;
  Rgb color{};
};

// A table of filled cells; a cell without a colour is not drawn.
struct Cells {
  double x = 0, y = 0;
  double cell_width = 0, cell_height = 0;
  double gap = 0;  // left blank at the right and lower side of each cell
  int rows = 0, columns = 0;
  std::vector<std::optional<Rgb>> colors;  // [rows columns]
};

struct Disc {
  double x = 0, y = 0;
  double radius = 4;
  Rgb fill{};
  double rim = 0;  // width of a rim that lies inside the radius
  Rgb rim_color{};
  std::string hint;  // shown where the pointer rests, in formats that can
};

using Shape = std::variant<Cells, Line, Text, Disc>;

struct Scene {
  double width = 0, height = 0;
  Rgb background{255, 255, 255};
  std::vector<Shape> shapes;

  template <typename Part>
  void add(Part part) {
    shapes.emplace_back(std::in_place_type<Part>, std::move(part));
  }
};

// Width of a letter as a share of the size of the text.
inline constexpr double kLetterWidth = 0.6;
double text_width(const std::string& text, double size);

std::string png_of(const Scene& scene);
std::string svg_of(const Scene& scene);

// For a page that decides about colours and letters: no background, and each of these colours as
// the name that the page's style sheet gives it, "var(--ink)".
struct NamedColor {
  Rgb color;
  std::string name;
};
// `label` says what it shows to those who cannot see it.
std::string inline_svg_of(const Scene& scene, const std::vector<NamedColor>& colors,
                          const std::string& label);

}  // namespace attnscope::render
