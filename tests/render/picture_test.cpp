#include "attnscope/render/picture.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstring>

#include "attnscope/support/error.h"
#include "maps.h"

namespace attnscope {
namespace {

using testing::causal_map;

struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
  Rgb at(int x, int y) const {
    const std::size_t i = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                               static_cast<std::size_t>(x));
    return {pixels[i], pixels[i + 1], pixels[i + 2]};
  }
};

// Read back by libpng's simplified interface, which the writer does not use.
Image decode(const std::string& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  Image image;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) return image;
  png.format = PNG_FORMAT_RGB;
  image.width = static_cast<int>(png.width);
  image.height = static_cast<int>(png.height);
  image.pixels.resize(PNG_IMAGE_SIZE(png));
  if (png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr) == 0) return {};
  return image;
}

int count_pixels(const Image& image, Rgb color) {
  int count = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) count += image.at(x, y) == color;
  }
  return count;
}

int count_text(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Png, CellsHaveTheColorsOfTheirValues) {
  HeatMap map = causal_map(3);
  map.scale = Scale{0, 1, ColorMap::viridis};
  const Image image = decode(draw_picture(map, PictureFormat::png));
  ASSERT_GT(image.width, 0);
  // 31 × 31 units of two pixels each; three cells of 1/3, two of 1/2.
  EXPECT_GE(count_pixels(image, color_at(ColorMap::viridis, 1.0F / 3)), 3 * 62 * 62);
  EXPECT_GE(count_pixels(image, color_at(ColorMap::viridis, 0.5)), 2 * 62 * 62);
  // The three hidden cells, whose stored values are 0, are not drawn.
  EXPECT_LT(count_pixels(image, color_at(ColorMap::viridis, 0)), 62 * 62);
}

TEST(Png, MissingIsGrey) {
  HeatMap map = causal_map(2);
  map.values[0] = std::nanf("");
  EXPECT_GE(count_pixels(decode(draw_picture(map, PictureFormat::png)),
                         color_at(ColorMap::viridis, std::nan(""))),
            62 * 62);
}

TEST(Picture, SameMapSameBytes) {
  for (const PictureFormat format : {PictureFormat::png, PictureFormat::svg}) {
    EXPECT_EQ(draw_picture(causal_map(20), format), draw_picture(causal_map(20), format));
  }
}

TEST(Picture, SizesStayReasonable) {
  for (const int tokens : {1, 12, 50, 200, 1000, 3000}) {
    const Image image = decode(draw_picture(causal_map(tokens), PictureFormat::png));
    ASSERT_GT(image.width, 400) << tokens;
    EXPECT_LT(image.width, 4200) << tokens;
    EXPECT_LT(image.height, 4400) << tokens;
  }
}

TEST(Svg, HoldsLabelsTitleScaleAndCaption) {
  HeatMap map = causal_map(12);
  map.row_labels[3] = " <b>&日本";
  map.row_title = "query";
  map.column_title = "key";
  const std::string svg = draw_picture(map, PictureFormat::svg);
  for (const char* part :
       {">head 5.1<", ">·&lt;b&gt;&amp;日本<", ">query<", ">key<", ">attention weight<",
        ">model: tiny<", ">color: attention weight from 0 to 1 (viridis)<"}) {
    EXPECT_EQ(count_text(svg, part), 1) << part;
  }
  for (int i = 0; i < 12; ++i) {
    const std::string label = ">·w" + std::to_string(i) + "<";
    EXPECT_EQ(count_text(svg, label), i == 3 ? 1 : 2) << label;
  }
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(Svg, UntrustedTextCannotLeaveItsElement) {
  HeatMap map = causal_map(2);
  map.title = "</text><script>alert(1)</script>";
  map.caption = {"\x01\xff<"};
  map.value_name = "<x>&";
  const std::string svg = draw_picture(map, PictureFormat::svg);
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_EQ(svg.find("<x>"), std::string::npos);
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
}

TEST(Svg, PoolingIsSaid) {
  const std::string svg = draw_picture(causal_map(1700), PictureFormat::svg);
  EXPECT_EQ(count_text(svg, "each cell is the largest of 2 × 2 values"), 1);
  EXPECT_EQ(count_text(draw_picture(causal_map(200), PictureFormat::svg), "each cell is"), 0);
}

TEST(Grid, SharesOneScaleAndNamesEachHead) {
  HeatMapGrid grid;
  grid.columns = 2;
  grid.title = "two heads";
  grid.caption = {"model: tiny"};
  for (int head = 0; head < 3; ++head) {
    grid.maps.push_back(causal_map(6));
    grid.maps.back().title = "head 0." + std::to_string(head);
    for (float& value : grid.maps.back().values) value *= static_cast<float>(head + 1);
  }
  const std::string svg = draw_picture(grid, PictureFormat::svg);
  for (const char* part : {">two heads<", ">head 0.0<", ">head 0.1<", ">head 0.2<",
                           ">color: attention weight from 0 to 3 (viridis)<"}) {
    EXPECT_EQ(count_text(svg, part), 1) << part;
  }
  // Rows are labelled at the left map of both lines, keys at the lowest map of both columns.
  EXPECT_EQ(count_text(svg, ">·w0<"), 4);
  EXPECT_GT(decode(draw_picture(grid, PictureFormat::png)).width, 0);
}

TEST(Grid, BlankPlacesMoveNothing) {
  HeatMapGrid grid;
  grid.columns = 2;
  grid.maps = {causal_map(6), HeatMap{}, causal_map(6), causal_map(6)};
  grid.maps[2].title = "head 1.0";
  grid.maps[3].title = "head 1.1";
  const std::string svg = draw_picture(grid, PictureFormat::svg);
  const auto x_of = [&svg](const std::string& title) {
    const std::size_t end = svg.find(">" + title + "<");
    const std::size_t begin = svg.rfind("x=\"", end);
    return svg.substr(begin, svg.find(' ', begin) - begin);
  };
  EXPECT_EQ(x_of("head 5.1"), x_of("head 1.0"));
  EXPECT_NE(x_of("head 1.0"), x_of("head 1.1"));
}

TEST(Grid, NothingToDrawIsAnError) {
  EXPECT_THROW(draw_picture(HeatMapGrid{}, PictureFormat::png), Error);
}

}  // namespace
}  // namespace attnscope
