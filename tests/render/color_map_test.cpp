#include "attnscope/render/color_map.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace attnscope {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

int largest_difference(Rgb a, Rgb b) {
  return std::max(
      {std::abs(a.red - b.red), std::abs(a.green - b.green), std::abs(a.blue - b.blue)});
}

// Entries of the published 256-entry tables.
struct Published {
  ColorMap map;
  int entry;
  Rgb color;
  int tolerance;
};

TEST(ColorMap, FollowsThePublishedTables) {
  const std::vector<Published> table = {
      {ColorMap::viridis, 0, {68, 1, 84}, 0},       {ColorMap::viridis, 20, {72, 29, 111}, 2},
      {ColorMap::viridis, 64, {59, 82, 139}, 2},    {ColorMap::viridis, 100, {42, 118, 142}, 2},
      {ColorMap::viridis, 128, {33, 145, 140}, 2},  {ColorMap::viridis, 192, {94, 201, 98}, 2},
      {ColorMap::viridis, 255, {253, 231, 37}, 0},  {ColorMap::cividis, 0, {0, 34, 78}, 0},
      {ColorMap::cividis, 64, {67, 78, 108}, 3},    {ColorMap::cividis, 128, {125, 124, 120}, 3},
      {ColorMap::cividis, 192, {188, 174, 108}, 3}, {ColorMap::cividis, 255, {254, 232, 56}, 0}};
  for (const Published& p : table) {
    const Rgb color = color_at(p.map, p.entry / 255.0);
    EXPECT_LE(largest_difference(color, p.color), p.tolerance) << p.entry;
  }
}

TEST(ColorMap, GetsLighterAllTheWay) {
  for (const ColorMap map : {ColorMap::viridis, ColorMap::cividis}) {
    for (int i = 1; i <= 32; ++i) {
      EXPECT_GT(luminance(color_at(map, i / 32.0)), luminance(color_at(map, (i - 1) / 32.0)));
    }
  }
}

TEST(ColorMap, DivergingIsLightestAndGreyAtZero) {
  const Rgb middle = color_at(ColorMap::diverging, 0.5);
  EXPECT_LE(largest_difference(middle, {middle.red, middle.red, middle.red}), 2);
  const Rgb low = color_at(ColorMap::diverging, 0), high = color_at(ColorMap::diverging, 1);
  EXPECT_GT(low.blue, low.red + 40);
  EXPECT_GT(high.red, high.blue + 40);
  for (int i = 1; i <= 16; ++i) {
    EXPECT_LT(luminance(color_at(ColorMap::diverging, 0.5 + i / 32.0)),
              luminance(color_at(ColorMap::diverging, 0.5 + (i - 1) / 32.0)));
    EXPECT_LT(luminance(color_at(ColorMap::diverging, 0.5 - i / 32.0)),
              luminance(color_at(ColorMap::diverging, 0.5 - (i - 1) / 32.0)));
  }
}

TEST(ColorMap, MissingIsGreyAndOutsideIsCut) {
  const Rgb missing = color_at(ColorMap::viridis, std::nan(""));
  EXPECT_EQ(missing.red, missing.green);
  EXPECT_EQ(missing.green, missing.blue);
  EXPECT_EQ(color_at(ColorMap::viridis, -1), color_at(ColorMap::viridis, 0));
  EXPECT_EQ(color_at(ColorMap::viridis, 7), color_at(ColorMap::viridis, 1));
}

// WCAG 2: white has luminance 1, black 0, pure red 0.2126.
TEST(ColorMap, LuminanceAndReadableText) {
  EXPECT_NEAR(luminance({255, 255, 255}), 1, 1e-6);
  EXPECT_NEAR(luminance({255, 0, 0}), 0.2126, 1e-6);
  EXPECT_EQ(text_color_on({253, 231, 37}), (Rgb{0, 0, 0}));
  EXPECT_EQ(text_color_on({68, 1, 84}), (Rgb{255, 255, 255}));
  for (int i = 0; i <= 20; ++i) {
    const Rgb background = color_at(ColorMap::viridis, i / 20.0);
    const double text = luminance(text_color_on(background)), ground = luminance(background);
    EXPECT_GE((std::max(text, ground) + 0.05) / (std::min(text, ground) + 0.05), 4.5);
  }
}

TEST(Scale, PutsValuesBetweenItsEnds) {
  const Scale scale{.low = 2, .high = 4, .map = ColorMap::viridis};
  EXPECT_DOUBLE_EQ(scale.place(3), 0.5);
  EXPECT_DOUBLE_EQ(scale.place(1), 0);
  EXPECT_DOUBLE_EQ(scale.place(std::numeric_limits<double>::infinity()), 1);
  EXPECT_DOUBLE_EQ(scale.place(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE(std::isnan(scale.place(std::nan(""))));
}

TEST(Scale, StartsAtZeroUnlessSomethingIsNegative) {
  const std::vector<float> weights = {0.25F, kNan, 0.5F};
  EXPECT_EQ(automatic_scale(weights).low, 0);
  EXPECT_EQ(automatic_scale(weights).high, 0.5);
  EXPECT_EQ(automatic_scale(weights).map, ColorMap::viridis);
  const std::vector<float> effects = {-3, 1, -std::numeric_limits<float>::infinity()};
  EXPECT_EQ(automatic_scale(effects).low, -3);
  EXPECT_EQ(automatic_scale(effects).high, 3);
  EXPECT_EQ(automatic_scale(effects).map, ColorMap::diverging);
  const std::vector<float> nothing = {kNan, 0};
  EXPECT_EQ(automatic_scale(nothing).high, 1);
}

TEST(Ticks, AreRoundAndInside) {
  const Ticks unit = round_ticks(0, 1, 5);
  EXPECT_NEAR(unit.step, 0.2, 1e-12);
  EXPECT_EQ(unit.count, 6);
  const Ticks odd = round_ticks(0, 0.955, 5);
  EXPECT_NEAR(odd.step, 0.2, 1e-12);
  EXPECT_EQ(odd.count, 5);
  const Ticks both = round_ticks(-3, 3, 6);
  EXPECT_NEAR(both.first, -3, 1e-12);
  EXPECT_NEAR(both.step, 1, 1e-12);
  EXPECT_EQ(both.count, 7);
}

}  // namespace
}  // namespace attnscope
