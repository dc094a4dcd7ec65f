#include "oklab.h"

#include <algorithm>
#include <cmath>

namespace attnscope::render {
namespace {

double from_linear(double value) {
  return value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055;
}

std::uint8_t channel(double linear) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(from_linear(linear), 0.0, 1.0)));
}

double cube(double x) {
  return x * x * x;
}

}  // namespace

double to_linear(double srgb) {
  return srgb <= 0.04045 ? srgb / 12.92 : std::pow((srgb + 0.055) / 1.055, 2.4);
}

Oklab to_oklab(Rgb color) {
  const double r = to_linear(color.red / 255.0), g = to_linear(color.green / 255.0),
               b = to_linear(color.blue / 255.0);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {.lightness = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          .a = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          .b = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Rgb from_oklab(const Oklab& color) {
  const double l = cube(color.lightness + 0.3963377774 * color.a + 0.2158037573 * color.b);
  const double m = cube(color.lightness - 0.1055613458 * color.a - 0.0638541728 * color.b);
  const double s = cube(color.lightness - 0.0894841775 * color.a - 1.2914855480 * color.b);
  return {channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

}  // namespace attnscope::render
