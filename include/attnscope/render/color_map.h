// File: color_map.h
// Colours for values: perceptually uniform maps and the scale from a value to its place on them.
#pragma once

#include <cstdint>
#include <span>

namespace attnscope {

struct Rgb {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Rgb&) const = default;
};

enum class ColorMap : std::uint8_t {
  viridis,    // from dark purple to yellow (van der Walt and Smith 2015)
  cividis,    // from dark blue to yellow, alike for colour-blind readers (Nuñez et al. 2018)
  diverging,  // blue, near white at zero, red; equal steps of lightness in Oklab on both sides
};

// The colour at `place`, cut to [0, 1]. NaN gives the grey of a missing value.
Rgb color_at(ColorMap map, double place);

// Black or white, whichever is easier to read on `background`.
Rgb text_color_on(Rgb background);

// Relative luminance in [0, 1] (WCAG 2).
double luminance(Rgb color);

// Which values the two ends of a colour map stand for.
struct Scale {
  double low = 0;
  double high = 1;
  ColorMap map = ColorMap::viridis;

  // Where `value` lies, in [0, 1]; NaN for NaN. Infinite values lie at the ends.
  double place(double value) const;
  Rgb color(double value) const { return color_at(map, place(value)); }
};

// 0 … largest on viridis when nothing is negative, −m … m on the diverging map else. Only finite
// values count; without any the scale is 0 … 1.
Scale automatic_scale(std::span<const float> values);

// About `count` round numbers that span the scale, ascending; 1, 2 or 5 times a power of ten apart.
struct Ticks {
  double first = 0;
  double step = 1;
  int count = 0;
  double at(int index) const { return first + index * step; }
};
Ticks round_ticks(double low, double high, int count);

}  // namespace attnscope
