#include <cmath>
#include <map>
#include <string_view>

#include "attnscope/render/label.h"
#include "attnscope/support/text.h"
#include "html.h"
#include "scene.h"

namespace attnscope::render {
namespace {

// At most two decimals, without trailing zeros.
std::string number(double value) {
  return format_number(std::round(value * 100) / 100, 8);
}

std::string hex(Rgb color) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "#";
  for (const int channel : {color.red, color.green, color.blue}) {
    text += kDigits[static_cast<std::size_t>(channel / 16)];
    text += kDigits[static_cast<std::size_t>(channel % 16)];
  }
  return text;
}

struct ByColor {
  bool operator()(const Rgb& a, const Rgb& b) const {
    return std::tie(a.red, a.green, a.blue) < std::tie(b.red, b.green, b.blue);
  }
};

// Writes shapes, with names for some colours.
class SvgWriter {
 public:
  explicit SvgWriter(const std::vector<NamedColor>& colors) : colors_(colors) {}

  std::string write(const Cells& cells) const;
  std::string write(const Line& line) const;
  std::string write(const Text& text) const;
  std::string write(const Disc& disc) const;
  std::string write_all(const std::vector<Shape>& shapes) const {
    std::string svg;
    for (const Shape& shape : shapes) {
      svg += std::visit([this](const auto& part) { return write(part); }, shape);
    }
    return svg;
  }

 private:
  std::string name_of(Rgb color) const {
    for (const NamedColor& named : colors_) {
      if (named.color == color) return named.name;
    }
    return hex(color);
  }
  const std::vector<NamedColor>& colors_;
};

// One path a colour; neighbours of one colour are one bar.
std::string SvgWriter::write(const Cells& cells) const {
  std::map<Rgb, std::string, ByColor> paths;
  const std::string down = "v" + number(cells.cell_height - cells.gap);
  for (int row = 0; row < cells.rows; ++row) {
    const auto color_of = [&](int column) {
      return cells.colors[static_cast<std::size_t>(row * cells.columns + column)];
    };
    for (int column = 0; column < cells.columns;) {
      const auto color = color_of(column);
      int end = column + 1;
      while (cells.gap == 0 && end < cells.columns && color_of(end) == color) ++end;
      if (color) {
        const double width = (end - column) * cells.cell_width - cells.gap;
        paths[*color] += "M" + number(cells.x + column * cells.cell_width) + " " +
                         number(cells.y + row * cells.cell_height) + "h" + number(width) + down +
                         "h" + number(-width) + "z";
      }
      column = end;
    }
  }
  std::string svg = "<g shape-rendering=\"crispEdges\">\n";
  for (const auto& [color, path] : paths) {
    svg += "<path fill=\"" + name_of(color) + "\" d=\"" + path + "\"/>\n";
  }
  return svg + "</g>\n";
}

std::string SvgWriter::write(const Line& line) const {
  return "<line x1=\"" + number(line.x1) + "\" y1=\"" + number(line.y1) + "\" x2=\"" +
         number(line.x2) + "\" y2=\"" + number(line.y2) + "\" stroke=\"" + name_of(line.color) +
         "\" stroke-width=\"" + number(line.width) + "\" stroke-linecap=\"round\"/>\n";
}

std::string SvgWriter::write(const Text& text) const {
  std::string svg = "<text x=\"" + number(text.x) + "\" y=\"" + number(text.y) + "\" font-size=\"" +
                    number(text.size) + "\" fill=\"" + name_of(text.color) + "\"";
  if (text.anchor == Anchor::middle) svg += " text-anchor=\"middle\"";
  if (text.anchor == Anchor::end) svg += " text-anchor=\"end\"";
  if (text.weight == Weight::bold) svg += " font-weight=\"bold\"";
  if (text.direction == Direction::upwards) {
    svg += " transform=\"rotate(-90 " + number(text.x) + " " + number(text.y) + ")\"";
  }
  return svg + ">" + escape_markup(text.text) + "</text>\n";
}

std::string SvgWriter::write(const Disc& disc) const {
  std::string svg = "<circle cx=\"" + number(disc.x) + "\" cy=\"" + number(disc.y) + "\" r=\"" +
                    number(disc.radius - disc.rim / 2) + "\" fill=\"" + name_of(disc.fill) + "\"";
  if (disc.rim > 0) {
    svg += " stroke=\"" + name_of(disc.rim_color) + "\" stroke-width=\"" + number(disc.rim) + "\"";
  }
  if (disc.hint.empty()) return svg + "/>\n";
  return svg + "><title>" + escape_markup(disc.hint) + "</title></circle>\n";
}

}  // namespace

double text_width(const std::string& text, double size) {
  return display_width(text) * kLetterWidth * size;
}

std::string svg_of(const Scene& scene) {
  const std::string width = number(scene.width), height = number(scene.height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
         "\" viewBox=\"0 0 " + width + " " + height +
         "\" font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\">\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"" +
         hex(scene.background) + "\"/>\n" + SvgWriter({}).write_all(scene.shapes) + "</svg>\n";
}

std::string inline_svg_of(const Scene& scene, const std::vector<NamedColor>& colors,
                          const std::string& label) {
  const std::string width = number(scene.width), height = number(scene.height);
  return "<svg role=\"img\" aria-label=\"" + html_text(label) + "\" width=\"" + width +
         "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height + "\">\n" +
         SvgWriter(colors).write_all(scene.shapes) + "</svg>\n";
}

}  // namespace attnscope::render
