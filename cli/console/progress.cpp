#include "console/progress.h"

#include <algorithm>
#include <cmath>

#include "attnscope/support/text.h"
#include "console/output.h"

namespace attnscope::console {
namespace {

constexpr int kBarWidth = 24;
constexpr const char* kClearLine = "\r\033[K";
constexpr std::chrono::milliseconds kBetweenDraws(100);

std::string two_digits(long value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

}  // namespace

std::string format_duration(double seconds) {
  const long s = std::lround(std::max(0.0, seconds));
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3600) return std::to_string(s / 60) + " min " + two_digits(s % 60) + " s";
  return std::to_string(s / 3600) + " h " + two_digits(s % 3600 / 60) + " min";
}

std::string progress_line(const ProgressState& state, const std::string& items,
                          const std::string& parts) {
  const double part = state.tokens_total > 0 ? static_cast<double>(state.tokens_done) /
                                                   static_cast<double>(state.tokens_total)
                                             : 0;
  const long full = std::lround(std::clamp(part, 0.0, 1.0) * kBarWidth);
  std::string line = state.stage.empty() ? "" : state.stage + " ";
  for (int i = 0; i < kBarWidth; ++i) line += i < full ? "█" : "░";
  line += " " + std::to_string(state.items_done) + "/" + std::to_string(state.items_total) + " " +
          items;
  if (state.tokens_per_second > 0) {
    line += ", " + format_number(std::round(state.tokens_per_second)) + " " + parts + "/s";
  }
  if (state.seconds_left > 0) line += ", " + format_duration(state.seconds_left) + " left";
  return line;
}

ProgressBar::ProgressBar(std::string items, std::string parts)
    : items_(std::move(items)), parts_(std::move(parts)), visible_(progress_visible()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) note(kClearLine);
}

void ProgressBar::update(const ProgressState& state) {
  if (!visible_) return;
  const auto now = Clock::now();
  if (drawn_ && now - last_ < kBetweenDraws) return;
  last_ = now;
  drawn_ = true;
  note(kClearLine + progress_line(state, items_, parts_));
}

}  // namespace attnscope::console
