// File: progress.h
// A progress bar on standard error, drawn only where that is a terminal.
#pragma once

#include <chrono>
#include <string>

#include "attnscope/support/progress.h"

namespace attnscope::console {

class ProgressBar : public ProgressListener {
 public:
  // `items` is what is counted, e.g. "prompts", `parts` what the speed is told in, e.g. "tokens".
  ProgressBar(std::string items, std::string parts);
  // Leaves the line of the bar empty.
  ~ProgressBar() override;
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // Draws at most ten times a second.
  void update(const ProgressState& state) override;

 private:
  using Clock = std::chrono::steady_clock;
  std::string items_;
  std::string parts_;
  bool visible_;
  bool drawn_ = false;
  Clock::time_point last_;
};

// "████░░░░ 3/10 prompts, 512 tokens/s, 12 s left", behind the stage where there are several.
std::string progress_line(const ProgressState& state, const std::string& items,
                          const std::string& parts);
// "12 s", "3 min 05 s", "2 h 10 min".
std::string format_duration(double seconds);

}  // namespace attnscope::console
