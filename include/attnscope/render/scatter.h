// File: scatter.h
// Points with intervals: what a unit's attention says against what removing it does.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace attnscope {

enum class PointMark { plain, causal, no_effect, undetermined };

struct ScatterPoint {
  double x = 0, y = 0;
  // Interval of y; NaN when there is none.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  PointMark mark = PointMark::plain;
  std::string label;  // "5.1"
};

// Text is as it is; what draws it escapes it.
struct ScatterPlot {
  std::vector<ScatterPoint> points;  // those with a NaN coordinate are not drawn
  std::optional<double> band;        // effects within ± this do not matter
  std::string title;
  std::string x_title, y_title;
  std::string bars = "95 % intervals";  // what the bars are, where points have them
  std::vector<std::string> caption;     // lines
};

}  // namespace attnscope
