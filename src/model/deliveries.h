// File: deliveries.h
// What a device has been asked to compute and copy for observers, in order: the host finishes and
// shows one result while the device is busy with the next.
#pragma once

#include <deque>
#include <functional>
#include <utility>

namespace attnscope {

// Results whose copies exist on the host at once: one that is shown, one that is on its way.
inline constexpr std::size_t kResultsInFlight = 2;

class Deliveries {
 public:
  // `show` waits for its copies and calls observers. It runs in its turn, before this returns only
  // if too many would wait.
  void push(std::function<void()> show) {
    waiting_.push_back(std::move(show));
    while (waiting_.size() >= kResultsInFlight) show_first();
  }
  void flush() {
    while (!waiting_.empty()) show_first();
  }

 private:
  void show_first() {
    const std::function<void()> show = std::move(waiting_.front());
    waiting_.pop_front();
    show();
  }

  std::deque<std::function<void()>> waiting_;
};

}  // namespace attnscope
