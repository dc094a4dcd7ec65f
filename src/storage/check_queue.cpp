#include "check_queue.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

namespace attnscope::storage_detail {

CheckQueue::CheckQueue() : limit_(std::max(1U, std::thread::hardware_concurrency())) {}

void CheckQueue::push(std::function<CheckResult()> check) {
  while (running_.size() >= limit_) take_first();
  try {
    running_.push_back(std::async(std::launch::async, check));
  } catch (const std::system_error&) {
    // No thread is to be had: here, then.
    running_.push_back(std::async(std::launch::deferred, std::move(check)));
  }
}

void CheckQueue::take_first() {
  CheckResult result = running_.front().get();
  running_.pop_front();
  nan_rows_ += result.nan_rows;
  for (CheckResult::Item& item : result.items) {
    if (seen_.insert(item.once).second) findings_.push_back(std::move(item.finding));
  }
}

void CheckQueue::finish(std::vector<Finding>& findings) {
  while (!running_.empty()) take_first();
  findings.insert(findings.end(), findings_.begin(), findings_.end());
  findings_.clear();
}

}  // namespace attnscope::storage_detail
