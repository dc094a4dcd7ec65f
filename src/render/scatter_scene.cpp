#include <algorithm>
#include <cmath>

#include "attnscope/render/color_map.h"
#include "attnscope/render/label.h"
#include "attnscope/render/picture.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "figure_scene.h"
#include "layout.h"

namespace attnscope::render {
namespace {

constexpr double kPlotWidth = 560;
constexpr double kPlotHeight = 340;
constexpr double kSpace = 14;
constexpr double kRadius = 4.5;
constexpr int kLabelled = 12;  // points with a name at most

struct Range {
  double low = 0, high = 1;
};

// Grows to hold the value; the first finite one starts it.
void include(Range& range, bool& started, double value) {
  if (!std::isfinite(value)) return;
  range = started ? Range{std::min(range.low, value), std::max(range.high, value)}
                  : Range{value, value};
  started = true;
}

Range padded(Range range) {
  const double span = range.high - range.low;
  const double room = span > 0 ? 0.06 * span : std::max(1e-6, std::fabs(range.high));
  return {range.low - room, range.high + room};
}

bool is_drawn(const ScatterPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

Rgb color_of(PointMark mark) {
  switch (mark) {
    case PointMark::causal:
      return kCausal;
    case PointMark::no_effect:
      return kNoEffect;
    case PointMark::undetermined:
      return kUndetermined;
    case PointMark::plain:
      break;
  }
  return kCausal;
}

const char* name_of(PointMark mark) {
  switch (mark) {
    case PointMark::causal:
      return "causal";
    case PointMark::no_effect:
      return "no effect";
    case PointMark::undetermined:
      return "undetermined";
    case PointMark::plain:
      break;
  }
  return "";
}

// What lies under the most important marks is drawn first.
int depth(PointMark mark) {
  return mark == PointMark::no_effect ? 0 : mark == PointMark::undetermined ? 1 : 2;
}

class ScatterDrawing {
 public:
  ScatterDrawing(Scene& scene, const ScatterPlot& plot, Corner corner)
      : scene_(scene), plot_(plot), corner_(corner) {
    bool any_x = false, any_y = false;
    include(y_, any_y, 0);
    if (plot.band) {
      include(y_, any_y, -*plot.band);
      include(y_, any_y, *plot.band);
    }
    for (const ScatterPoint& point : plot.points) {
      if (!is_drawn(point)) continue;
      include(x_, any_x, point.x);
      for (const double value : {point.y, point.low, point.high}) include(y_, any_y, value);
      drawn_.push_back(&point);
    }
    x_ = padded(x_);
    y_ = padded(y_);
    std::stable_sort(drawn_.begin(), drawn_.end(),
                     [](const auto* a, const auto* b) { return depth(a->mark) < depth(b->mark); });
  }

  void run() {
    draw_frame();
    for (const ScatterPoint* point : drawn_) draw_interval(*point);
    for (const ScatterPoint* point : drawn_) draw_mark(at(*point), *point);
    draw_labels();
  }

  // Marks that occur, in one line that starts at `left`.
  void draw_legend(double left, double y) {
    for (const PointMark mark :
         {PointMark::causal, PointMark::no_effect, PointMark::undetermined}) {
      const bool occurs = std::any_of(drawn_.begin(), drawn_.end(),
                                      [mark](const auto* point) { return point->mark == mark; });
      if (!occurs) continue;
      draw_mark({left + kRadius, y - 4}, {.mark = mark});
      put(name_of(mark), {left + 2 * kRadius + 6, y}, Anchor::start, kSoftInk);
      left += 2 * kRadius + 22 + text_width(name_of(mark), kSmallSize);
    }
  }

 private:
  Corner at(const ScatterPoint& point) const { return {x_of(point.x), y_of(point.y)}; }
  double x_of(double value) const {
    return corner_.x + kPlotWidth * (value - x_.low) / (x_.high - x_.low);
  }
  double y_of(double value) const {
    return corner_.y + kPlotHeight * (y_.high - value) / (y_.high - y_.low);
  }

  void put(const std::string& text, Corner where, Anchor anchor, Rgb color) {
    scene_.add(Text{.x = where.x,
                    .y = where.y,
                    .text = text,
                    .size = kSmallSize,
                    .anchor = anchor,
                    .color = color});
  }
  void stroke(Corner from, Corner to, double width, Rgb color) {
    scene_.add(
        Line{.x1 = from.x, .y1 = from.y, .x2 = to.x, .y2 = to.y, .width = width, .color = color});
  }

  void draw_frame() {
    const double right = corner_.x + kPlotWidth, bottom = corner_.y + kPlotHeight;
    if (plot_.band) {
      const double top = y_of(*plot_.band);
      scene_.add(Cells{.x = corner_.x,
                       .y = top,
                       .cell_width = kPlotWidth,
                       .cell_height = y_of(-*plot_.band) - top,
                       .rows = 1,
                       .columns = 1,
                       .colors = {kBand}});
    }
    const Ticks across = round_ticks(x_.low, x_.high, 6);
    for (int i = 0; i < across.count; ++i) {
      const double x = x_of(across.at(i));
      stroke({x, corner_.y}, {x, bottom}, 0.75, kGridLine);
      put(tick_text(across, i), {x, bottom + 6 + kSmallSize}, Anchor::middle, kSoftInk);
    }
    const Ticks up = round_ticks(y_.low, y_.high, 6);
    for (int i = 0; i < up.count; ++i) {
      const double y = y_of(up.at(i));
      stroke({corner_.x, y}, {right, y}, 0.75, kGridLine);
      put(tick_text(up, i), {corner_.x - 8, y + 0.33 * kSmallSize}, Anchor::end, kSoftInk);
    }
    stroke({corner_.x, y_of(0)}, {right, y_of(0)}, 1.25, kSoftInk);
    put(escape_untrusted(plot_.x_title), {corner_.x + kPlotWidth / 2, bottom + 2 * kSmallSize + 16},
        Anchor::middle, kInk);
    scene_.add(Text{.x = corner_.x - 52,
                    .y = corner_.y + kPlotHeight / 2,
                    .text = escape_untrusted(plot_.y_title),
                    .size = kSmallSize,
                    .anchor = Anchor::middle,
                    .direction = Direction::upwards,
                    .color = kInk});
  }

  static std::string tick_text(const Ticks& ticks, int i) {
    const double value = ticks.at(i);
    return format_number(std::fabs(value) < ticks.step / 2 ? 0 : value, 3);
  }

  void draw_interval(const ScatterPoint& point) {
    if (!std::isfinite(point.low) || !std::isfinite(point.high)) return;
    const double x = x_of(point.x);
    stroke({x, y_of(point.low)}, {x, y_of(point.high)}, 1.25, color_of(point.mark));
  }

  void draw_mark(Corner where, const ScatterPoint& point) {
    const Rgb color = color_of(point.mark);
    if (point.mark == PointMark::no_effect) {
      const double arm = 0.75 * kRadius;
      stroke({where.x - arm, where.y - arm}, {where.x + arm, where.y + arm}, 1.5, color);
      stroke({where.x - arm, where.y + arm}, {where.x + arm, where.y - arm}, 1.5, color);
      return;
    }
    const bool hollow = point.mark == PointMark::undetermined;
    std::string hint;
    if (!point.label.empty()) {
      hint = escape_untrusted(point.label) + ": effect " + format_number(point.y, 4) +
             ", attention " + format_number(point.x, 4);
    }
    scene_.add(Disc{.x = where.x,
                    .y = where.y,
                    .radius = kRadius,
                    .fill = hollow ? kPaper : color,
                    .rim = hollow ? 1.5 : 0,
                    .rim_color = color,
                    .hint = std::move(hint)});
  }

  struct Box {
    double left, top, right, bottom;
    bool overlaps(const Box& other) const {
      return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
  };

  // Names of causal units, the largest effects and the largest attention, where there is room.
  void draw_labels() {
    std::vector<const ScatterPoint*> named = drawn_;
    std::vector<Box> taken;
    for (const ScatterPoint* point : drawn_) {
      const Corner c = at(*point);
      taken.push_back({c.x - kRadius, c.y - kRadius, c.x + kRadius, c.y + kRadius});
    }
    const auto importance = [&](const ScatterPoint* point) {
      const double up = std::fabs(point->y) / (y_.high - y_.low);
      const double across = (point->x - x_.low) / (x_.high - x_.low);
      return std::max(up, 0.5 * across) + (point->mark == PointMark::causal ? 1 : 0);
    };
    std::stable_sort(named.begin(), named.end(),
                     [&](const auto* a, const auto* b) { return importance(a) > importance(b); });
    if (named.size() > kLabelled) named.resize(kLabelled);
    for (const ScatterPoint* point : named) put_label(*point, taken);
  }

  // Right of the point, else left, above or below it; nowhere if all are taken.
  void put_label(const ScatterPoint& point, std::vector<Box>& taken) {
    const std::string text = fit_width(escape_untrusted(point.label), 14);
    const double width = text_width(text, kSmallSize);
    const Corner c = at(point);
    const Corner places[] = {{c.x + kRadius + 3, c.y + 4},
                             {c.x - kRadius - 3 - width, c.y + 4},
                             {c.x - width / 2, c.y - kRadius - 4},
                             {c.x - width / 2, c.y + kRadius + kSmallSize + 1}};
    for (const Corner& place : places) {
      const Box box{place.x, place.y - kSmallSize + 2, place.x + width, place.y + 2};
      const bool inside = box.left >= corner_.x && box.right <= corner_.x + kPlotWidth &&
                          box.top >= corner_.y && box.bottom <= corner_.y + kPlotHeight;
      const bool free = std::none_of(taken.begin(), taken.end(),
                                     [&](const Box& other) { return box.overlaps(other); });
      if (!inside || !free) continue;
      put(text, place, Anchor::start, kInk);
      taken.push_back(box);
      return;
    }
  }

  Scene& scene_;
  const ScatterPlot& plot_;
  Corner corner_;
  Range x_, y_;
  std::vector<const ScatterPoint*> drawn_;
};

std::vector<std::string> caption_of(const ScatterPlot& plot) {
  std::vector<std::string> lines = plot.caption;
  const bool intervals = std::any_of(plot.points.begin(), plot.points.end(),
                                     [](const auto& point) { return std::isfinite(point.low); });
  if (intervals) lines.push_back("bars: " + plot.bars);
  if (plot.band) {
    const std::string edge = format_number(*plot.band, 3);
    lines.push_back("band: effects from -" + edge + " to " + edge);
  }
  return lines;
}

}  // namespace

Scene scatter_scene(const ScatterPlot& plot, Surroundings surroundings) {
  const bool with_text = surroundings == Surroundings::drawn;
  const double edge = with_text ? kMargin : 8;
  const double above = with_text ? kTitleSize + kSpace : 0;
  const Corner corner{edge + 60, edge + above + kSmallSize + kSpace};
  Scene scene;
  scene.width = corner.x + kPlotWidth + edge + 8;
  if (with_text) draw_title(scene, plot.title, {kMargin, kMargin - 4});
  ScatterDrawing drawing(scene, plot, corner);
  drawing.run();
  drawing.draw_legend(corner.x, corner.y - 8);
  scene.height = corner.y + kPlotHeight + 2 * kSmallSize + 22;
  if (with_text) {
    scene.height +=
        draw_caption(scene, caption_of(plot), {kMargin, scene.height}, scene.width - 2 * kMargin) +
        kMargin;
  }
  return scene;
}

}  // namespace attnscope::render

namespace attnscope {

std::string draw_picture(const ScatterPlot& plot, PictureFormat format) {
  const render::Scene scene = render::scatter_scene(plot, render::Surroundings::drawn);
  return format == PictureFormat::png ? render::png_of(scene) : render::svg_of(scene);
}

}  // namespace attnscope
