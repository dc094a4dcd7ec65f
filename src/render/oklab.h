// Oklab (Ottosson 2020), a space where equal distances look equal.
#pragma once

#include "attnscope/render/color_map.h"

namespace attnscope::render {

struct Oklab {
  double lightness = 0, a = 0, b = 0;
};

double to_linear(double srgb);  // one channel, both in [0, 1]
Oklab to_oklab(Rgb color);
Rgb from_oklab(const Oklab& color);  // cut to what sRGB can show

}  // namespace attnscope::render
