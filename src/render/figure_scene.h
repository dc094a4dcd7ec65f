// File: figure_scene.h
// Scatter plots and heat maps as scenes.
#pragma once

#include "attnscope/render/heat_map.h"
#include "attnscope/render/scatter.h"
#include "scene.h"

namespace attnscope::render {

// Colours of the marks and of the region of effects that do not matter.
inline constexpr Rgb kCausal{29, 78, 216};
inline constexpr Rgb kNoEffect{107, 114, 128};
inline constexpr Rgb kUndetermined{180, 83, 9};
inline constexpr Rgb kBand{240, 242, 245};
inline constexpr Rgb kGridLine{225, 228, 232};
inline constexpr Rgb kPaper{255, 255, 255};

// Title and caption are left to a page that has its own.
enum class Surroundings { drawn, left_out };

Scene scatter_scene(const ScatterPlot& plot, Surroundings surroundings);
Scene map_scene(const HeatMap& map, Surroundings surroundings);

}  // namespace attnscope::render
