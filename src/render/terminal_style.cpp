#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "attnscope/render/label.h"
#include "attnscope/support/text.h"
#include "ink.h"
#include "oklab.h"

namespace attnscope {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool colors_wanted(int fd) {
  if (!environment("NO_COLOR").empty() || environment("TERM") == "dumb") return false;
  const std::string force = environment("CLICOLOR_FORCE");
  return isatty(fd) == 1 || (!force.empty() && force != "0");
}

int width_of(int fd) {
  constexpr int kNarrowest = 40, kWidest = 1000, kFallback = 100;
  if (const auto columns = parse_integer(environment("COLUMNS"))) {
    if (*columns > 0)
      return static_cast<int>(std::clamp<std::int64_t>(*columns, kNarrowest, kWidest));
  }
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::clamp<int>(size.ws_col, kNarrowest, kWidest);
  }
  return kFallback;
}

}  // namespace

TerminalStyle terminal_style_of(int fd) {
  TerminalStyle style{.color = ColorDepth::none, .columns = width_of(fd)};
  if (!colors_wanted(fd)) return style;
  const std::string kind = environment("COLORTERM"), term = environment("TERM");
  const bool direct = kind == "truecolor" || kind == "24bit" || term.ends_with("-direct");
  style.color = direct ? ColorDepth::true_color : ColorDepth::colors_256;
  return style;
}

namespace render {
namespace {

constexpr int kFixedColors = 240;  // of the 256; the first 16 are the user's
constexpr int kFirstFixed = 16;

// The 6×6×6 cube and the 24 greys of a 256-colour terminal.
Rgb fixed_color(int index) {
  constexpr std::array<std::uint8_t, 6> kLevels = {0, 95, 135, 175, 215, 255};
  constexpr int kCube = 216;
  if (index >= kCube) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (index - kCube));
    return {grey, grey, grey};
  }
  const auto level = [&](int divisor) {
    return kLevels[static_cast<std::size_t>(index / divisor % 6)];
  };
  return {level(36), level(6), level(1)};
}

double distance2(const Oklab& x, const Oklab& y) {
  const double l = x.lightness - y.lightness, a = x.a - y.a, b = x.b - y.b;
  return l * l + a * a + b * b;
}

}  // namespace

int nearest_of_256(Rgb color) {
  static const std::array<Oklab, kFixedColors> palette = [] {
    std::array<Oklab, kFixedColors> all;
    for (int i = 0; i < kFixedColors; ++i)
      all[static_cast<std::size_t>(i)] = to_oklab(fixed_color(i));
    return all;
  }();
  const Oklab wanted = to_oklab(color);
  const auto nearest = std::min_element(
      palette.begin(), palette.end(),
      [&](const Oklab& x, const Oklab& y) { return distance2(x, wanted) < distance2(y, wanted); });
  return kFirstFixed + static_cast<int>(nearest - palette.begin());
}

void Ink::change(std::optional<Rgb>& now, std::optional<Rgb> wanted, int ground) {
  if (depth_ == ColorDepth::none || now == wanted) return;
  now = wanted;
  const std::string code = std::to_string(ground);
  if (!wanted) {
    out_ += "\x1b[" + std::to_string(ground + 1) + "m";
  } else if (depth_ == ColorDepth::true_color) {
    out_ += "\x1b[" + code + ";2;" + std::to_string(wanted->red) + ";" +
            std::to_string(wanted->green) + ";" + std::to_string(wanted->blue) + "m";
  } else {
    out_ += "\x1b[" + code + ";5;" + std::to_string(nearest_of_256(*wanted)) + "m";
  }
}

void Ink::put(std::string_view text, std::optional<Rgb> foreground, std::optional<Rgb> background) {
  change(foreground_, foreground, 38);
  change(background_, background, 48);
  out_ += text;
}

void Ink::end_line() {
  if (foreground_ || background_) out_ += "\x1b[0m";
  foreground_.reset();
  background_.reset();
  out_ += '\n';
}

char density(double place) {
  constexpr std::string_view kRamp = ".:-=+*#%@";
  if (std::isnan(place)) return '?';
  const double steps = static_cast<double>(kRamp.size());
  return kRamp[static_cast<std::size_t>(std::clamp(std::floor(place * steps), 0.0, steps - 1))];
}

void put_legend(Ink& ink, const Scale& scale, const std::string& name, const TerminalStyle& style) {
  const std::string low = format_number(scale.low, 3) + " ";
  const std::string high = " " + format_number(scale.high, 3) + "  ";
  const int taken = display_width(low) + display_width(high) + display_width(name);
  const int width = std::clamp(style.columns - taken, 5, 27);
  ink.put(low);
  for (int i = 0; i < width; ++i) {
    const double place = (i + 0.5) / width;
    if (style.color == ColorDepth::none) {
      ink.put(std::string(1, density(place)));
    } else {
      ink.put(" ", std::nullopt, color_at(scale.map, place));
    }
  }
  ink.put(high + name, std::nullopt, std::nullopt);
  ink.end_line();
}

}  // namespace render
}  // namespace attnscope
