// File: check_queue.h
// Checks of a file that run on other threads than the one that reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "attnscope/storage/verify.h"

namespace attnscope::storage_detail {

struct CheckResult {
  struct Item {
    std::string once;  // of several items with the same key only the first counts
    Finding finding;
  };
  std::vector<Item> items;
  std::int64_t nan_rows = 0;
};

// Work on other threads. Results come in the order of the calls.
class CheckQueue {
 public:
  CheckQueue();
  // Waits while one check a core is under way.
  void push(std::function<CheckResult()> check);
  // Waits for all, and appends what they found.
  void finish(std::vector<Finding>& findings);
  std::int64_t nan_rows() const { return nan_rows_; }

 private:
  void take_first();

  std::size_t limit_;
  std::deque<std::future<CheckResult>> running_;
  std::set<std::string> seen_;
  std::vector<Finding> findings_;
  std::int64_t nan_rows_ = 0;
};

}  // namespace attnscope::storage_detail
