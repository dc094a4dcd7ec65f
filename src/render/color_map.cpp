#include "attnscope/render/color_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "oklab.h"

namespace attnscope {
namespace {

// 33 equally spaced colours of each published table (CC0); between them the line is straight.
constexpr int kAnchors = 33;
constexpr std::array<std::uint32_t, kAnchors> kViridis = {
    0x440154, 0x470d60, 0x48186a, 0x482374, 0x472d7b, 0x453681, 0x424086, 0x3f4989, 0x3b528b,
    0x375a8d, 0x33638d, 0x2f6a8e, 0x2c728e, 0x297a8e, 0x26818e, 0x23898e, 0x21908c, 0x1f988b,
    0x1f9f88, 0x21a685, 0x28ae80, 0x31b57b, 0x3ebc74, 0x4cc26c, 0x5dc963, 0x6ece58, 0x82d34c,
    0x96d83f, 0xabdc32, 0xc0df24, 0xd5e21a, 0xeae51a, 0xfde725};
constexpr std::array<std::uint32_t, kAnchors> kCividis = {
    0x00224e, 0x00285b, 0x002e6a, 0x043371, 0x1a386f, 0x273e6e, 0x32436d, 0x3b496c, 0x434e6c,
    0x4b546c, 0x52596d, 0x5a5f6e, 0x61656f, 0x686a71, 0x6f7073, 0x757676, 0x7c7b78, 0x848179,
    0x8b8778, 0x938d78, 0x9b9376, 0xa39a75, 0xaba072, 0xb3a670, 0xbbad6c, 0xc3b469, 0xccba64,
    0xd4c15f, 0xddc958, 0xe6d051, 0xefd748, 0xf8df3c, 0xfee838};

constexpr Rgb kMissing{200, 200, 200};

std::uint8_t to_byte(double unit) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(unit, 0.0, 1.0)));
}

Rgb between_anchors(const std::array<std::uint32_t, kAnchors>& table, double place) {
  const double at = place * (kAnchors - 1);
  const auto left = static_cast<std::size_t>(std::min(std::floor(at), kAnchors - 2.0));
  const double share = at - static_cast<double>(left);
  const auto channel = [&](int shift) {
    const double a = (table[left] >> shift) & 0xff;
    const double b = (table[left + 1] >> shift) & 0xff;
    return to_byte((a + share * (b - a)) / 255);
  };
  return {channel(16), channel(8), channel(0)};
}

Rgb diverging(double place) {
  constexpr double kMiddle = 0.97, kEnd = 0.45, kChroma = 0.15;
  constexpr double kBlue = 255, kRed = 25;  // hues in degrees
  const double strength = std::abs(2 * place - 1);
  const double hue = (place < 0.5 ? kBlue : kRed) * std::numbers::pi / 180;
  const double chroma = strength * kChroma;
  return render::from_oklab({.lightness = kMiddle - strength * (kMiddle - kEnd),
                             .a = chroma * std::cos(hue),
                             .b = chroma * std::sin(hue)});
}

}  // namespace

Rgb color_at(ColorMap map, double place) {
  if (std::isnan(place)) return kMissing;
  place = std::clamp(place, 0.0, 1.0);
  switch (map) {
    case ColorMap::viridis:
      return between_anchors(kViridis, place);
    case ColorMap::cividis:
      return between_anchors(kCividis, place);
    case ColorMap::diverging:
      return diverging(place);
  }
  return kMissing;
}

double luminance(Rgb color) {
  using render::to_linear;
  return 0.2126 * to_linear(color.red / 255.0) + 0.7152 * to_linear(color.green / 255.0) +
         0.0722 * to_linear(color.blue / 255.0);
}

Rgb text_color_on(Rgb background) {
  // Contrast ratios (L + .05) / (.05) and 1.05 / (L + .05) are equal here.
  constexpr double kEqualContrast = 0.1791;
  return luminance(background) > kEqualContrast ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

double Scale::place(double value) const {
  if (std::isnan(value)) return value;
  if (!(high > low)) return 0;
  return std::clamp((value - low) / (high - low), 0.0, 1.0);
}

Scale automatic_scale(std::span<const float> values) {
  double low = 0, high = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, static_cast<double>(value));
    high = std::max(high, static_cast<double>(value));
  }
  if (low < 0) {
    const double most = std::max(-low, high);
    return {.low = -most, .high = most, .map = ColorMap::diverging};
  }
  return {.low = 0, .high = high > 0 ? high : 1, .map = ColorMap::viridis};
}

Ticks round_ticks(double low, double high, int count) {
  if (!(high > low) || count < 1) return {.first = low, .step = 1, .count = 1};
  const double rough = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  const double slack = 1e-9 * step;
  const double first = std::ceil((low - slack) / step) * step;
  const int ticks = static_cast<int>(std::floor((high + slack - first) / step)) + 1;
  return {.first = first, .step = step, .count = ticks};
}

}  // namespace attnscope
