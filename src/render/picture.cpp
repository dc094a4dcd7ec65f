#include "attnscope/render/picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/render/label.h"
#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "figure_scene.h"
#include "layout.h"

namespace attnscope {
namespace {

using namespace render;

constexpr double kMapSide = 1600;    // longest side that cells are shrunk to fit
constexpr double kSmallestCell = 8;  // while there are at most kMapSide / kSmallestCell rows
constexpr double kLargestCell = 32;
constexpr double kThumbnailSide = 168;  // of one map in a grid
constexpr double kLabelledCell = 8;     // in a grid, smaller cells have no labels
constexpr double kThumbnailGap = 14;
constexpr double kSpace = 16;       // between the parts of a picture
constexpr double kNarrowest = 420;  // room for the caption

std::string bytes_of(const Scene& scene, PictureFormat format) {
  return format == PictureFormat::png ? png_of(scene) : svg_of(scene);
}

double cell_for(const HeatMap& map) {
  const int most = std::max({map.rows, map.columns, 1});
  const double target = std::min(kMapSide, 420 + 6.0 * most);
  const double cell = std::floor(target / most);
  if (most * kSmallestCell <= kMapSide) return std::clamp(cell, kSmallestCell, kLargestCell);
  return std::max(1.0, std::floor(kMapSide / most));
}

// Titles of the axes: the left one is read upwards, the lower one stands under the labels.
void draw_axis_titles(Scene& scene, const HeatMap& map, const MapLook& look, Corner corner,
                      double left) {
  const double map_height = map.rows * look.cell_height, map_width = map.columns * look.cell_width;
  if (!map.row_title.empty()) {
    scene.shapes.push_back(Text{.x = left + kSmallSize,
                                .y = corner.y + map_height / 2,
                                .text = escape_untrusted(map.row_title),
                                .size = kSmallSize,
                                .anchor = Anchor::middle,
                                .direction = Direction::upwards,
                                .color = kSoftInk});
  }
  if (!map.column_title.empty()) {
    scene.shapes.push_back(Text{.x = corner.x + map_width / 2,
                                .y = corner.y + map_height + look.labels_height + kSpace,
                                .text = escape_untrusted(map.column_title),
                                .size = kSmallSize,
                                .anchor = Anchor::middle,
                                .color = kSoftInk});
  }
}

std::vector<std::string> caption_of(const std::vector<std::string>& lines, const Scale& scale,
                                    const std::string& value_name, const PooledMap& pooled) {
  std::vector<std::string> caption = lines;
  caption.push_back(scale_line(scale, value_name));
  for (std::string& line : pooling_line(pooled)) caption.push_back(std::move(line));
  return caption;
}

// The maps of a grid that are not blank.
std::vector<const HeatMap*> drawn_maps(const HeatMapGrid& grid) {
  std::vector<const HeatMap*> drawn;
  for (std::size_t i = 0; i < grid.maps.size(); ++i) {
    if (!grid.is_blank(i)) drawn.push_back(&grid.maps[i]);
  }
  return drawn;
}

// One scale for all maps of a grid.
Scale common_scale(const std::vector<const HeatMap*>& maps) {
  Scale common = maps.front()->drawn_scale();
  for (const HeatMap* map : maps) {
    const Scale scale = map->drawn_scale();
    common.low = std::min(common.low, scale.low);
    common.high = std::max(common.high, scale.high);
    if (scale.map == ColorMap::diverging) common.map = ColorMap::diverging;
  }
  if (common.map == ColorMap::diverging) {
    common.high = std::max(common.high, -common.low);
    common.low = -common.high;
  }
  return common;
}

void check_grid(const HeatMapGrid& grid) {
  for (const HeatMap& map : grid.maps) check_heat_map(map);
  const std::size_t drawn = drawn_maps(grid).size();
  if (drawn > 0 && grid.columns >= 1) return;
  throw Error(ErrorKind::internal, "RN01",
              {.where = "grid of heat maps",
               .what = "nothing to draw",
               .expected = "at least one map and one column",
               .got = std::to_string(drawn) + " maps"});
}

// Labels go to the first map of a row and to the last map of a column.
Edges edges_of(const HeatMapGrid& grid, std::size_t index, int columns) {
  const auto step = static_cast<std::size_t>(columns);
  const bool left = index % step == 0;
  const bool last = index + step >= grid.maps.size() || grid.is_blank(index + step);
  if (left && last) return Edges::both;
  if (left) return Edges::left;
  return last ? Edges::below : Edges::none;
}

PooledMap thumbnail(const HeatMap& map) {
  return max_pool(map, static_cast<int>(kThumbnailSide), static_cast<int>(kThumbnailSide));
}

}  // namespace

Scene render::map_scene(const HeatMap& given, Surroundings surroundings) {
  check_heat_map(given);
  const bool with_text = surroundings == Surroundings::drawn;
  const PooledMap pooled = max_pool(given, static_cast<int>(kMapSide), static_cast<int>(kMapSide));
  const HeatMap& map = pooled.map;
  const Scale scale = map.drawn_scale();
  const MapLook look = look_of(map, cell_for(map), Labels::drawn);

  const double edge = with_text ? kMargin : 4;
  const double axis = map.row_title.empty() ? 0 : kSmallSize + 8;
  const Corner cells{edge + axis + look.labels_width,
                     with_text ? kMargin + kTitleSize + kSpace : edge};
  const double map_width = map.columns * look.cell_width;
  const double map_height = map.rows * look.cell_height;

  Scene scene;
  if (with_text) draw_title(scene, map.title, {kMargin, kMargin - 4});
  draw_map(scene, map, scale, look, cells, Edges::both);
  draw_axis_titles(scene, map, look, cells, edge);
  const double bar_x = cells.x + map_width + kSpace;
  const double bar = draw_color_bar(scene, scale, map.value_name, {bar_x, cells.y},
                                    std::clamp(map_height - look.gap, 60.0, 420.0));
  scene.width = std::max(bar_x + bar + edge, with_text ? kNarrowest : 0.0);
  const double below = cells.y + std::max(map_height + look.labels_height, 60.0) +
                       (map.column_title.empty() ? 0 : kSpace) + kSpace / 2;
  scene.height = below;
  if (with_text) {
    scene.height += draw_caption(scene, caption_of(map.caption, scale, map.value_name, pooled),
                                 {kMargin, below}, scene.width - 2 * kMargin) +
                    kMargin;
  }
  return scene;
}

std::string draw_picture(const HeatMap& map, PictureFormat format) {
  return bytes_of(map_scene(map, Surroundings::drawn), format);
}

std::string draw_picture(const HeatMapGrid& grid, PictureFormat format) {
  check_grid(grid);
  const std::vector<const HeatMap*> drawn = drawn_maps(grid);
  const Scale scale = common_scale(drawn);
  const int columns = std::min(grid.columns, static_cast<int>(grid.maps.size()));
  const int rows = (static_cast<int>(grid.maps.size()) + columns - 1) / columns;
  const PooledMap first = thumbnail(*drawn.front());
  const int most = std::max(first.map.rows, first.map.columns);
  const double cell = std::clamp(std::floor(kThumbnailSide / most), 1.0, 12.0);
  const bool labelled = cell >= kLabelledCell;
  const MapLook look = look_of(first.map, cell, labelled ? Labels::drawn : Labels::left_out);
  const double step_x = first.map.columns * look.cell_width + kThumbnailGap;
  const double step_y = first.map.rows * look.cell_height + kThumbnailGap + kSmallSize + 4;
  const Corner origin{kMargin + look.labels_width, kMargin + kTitleSize + kSpace + kSmallSize + 4};

  Scene scene;
  draw_title(scene, grid.title, {kMargin, kMargin - 4});
  for (std::size_t i = 0; i < grid.maps.size(); ++i) {
    if (grid.is_blank(i)) continue;
    const int row = static_cast<int>(i) / columns, column = static_cast<int>(i) % columns;
    const Corner corner{origin.x + column * step_x, origin.y + row * step_y};
    draw_map(scene, thumbnail(grid.maps[i]).map, scale, look, corner,
             labelled ? edges_of(grid, i, columns) : Edges::none);
    scene.shapes.push_back(Text{.x = corner.x,
                                .y = corner.y - 5,
                                .text = escape_untrusted(grid.maps[i].title),
                                .size = kSmallSize,
                                .color = kInk});
  }
  const double bar_x = origin.x + columns * step_x - kThumbnailGap + kSpace;
  const double maps_height = rows * step_y - kThumbnailGap - kSmallSize - 4;
  const std::string& value_name = drawn.front()->value_name;
  const double bar = draw_color_bar(scene, scale, value_name, {bar_x, origin.y},
                                    std::clamp(maps_height, 60.0, 420.0));
  scene.width = std::max(bar_x + bar + kMargin, kNarrowest);
  const double below = origin.y + maps_height + look.labels_height + kSpace / 2;
  scene.height = below +
                 draw_caption(scene, caption_of(grid.caption, scale, value_name, first),
                              {kMargin, below}, scene.width - 2 * kMargin) +
                 kMargin;
  return bytes_of(scene, format);
}

}  // namespace attnscope
