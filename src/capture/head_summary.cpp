#include "attnscope/capture/head_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attnscope {

HeadSummary::HeadSummary(std::vector<int> heads_per_layer)
    : heads_per_layer_(std::move(heads_per_layer)) {
  std::size_t next = 0;
  for (const int heads : heads_per_layer_) {
    first_.push_back(next);
    next += static_cast<std::size_t>(heads) * kHeadStatCount;
  }
  sums_.assign(next, 0);
  counts_.assign(next, 0);
}

std::size_t HeadSummary::slot(int layer, int head, HeadStat stat) const {
  return first_[static_cast<std::size_t>(layer)] + static_cast<std::size_t>(head) * kHeadStatCount +
         static_cast<std::size_t>(stat);
}

void HeadSummary::add(int layer, std::span<const float> stats) {
  const std::size_t first = first_[static_cast<std::size_t>(layer)];
  for (std::size_t i = 0; i < stats.size(); ++i) {
    if (std::isnan(stats[i])) continue;
    sums_[first + i] += stats[i];
    ++counts_[first + i];
  }
}

double HeadSummary::mean(HeadId head, HeadStat stat) const {
  const std::size_t i = slot(head.layer, head.head, stat);
  if (counts_[i] == 0) return std::numeric_limits<double>::quiet_NaN();
  return sums_[i] / static_cast<double>(counts_[i]);
}

std::vector<LeadingHead> HeadSummary::top(HeadStat stat, int count) const {
  std::vector<LeadingHead> heads;
  for (std::size_t l = 0; l < heads_per_layer_.size(); ++l) {
    for (int h = 0; h < heads_per_layer_[l]; ++h) {
      const HeadId head{.layer = static_cast<int>(l), .head = h};
      const double value = mean(head, stat);
      if (!std::isnan(value)) heads.push_back({head, value});
    }
  }
  std::stable_sort(heads.begin(), heads.end(),
                   [](const auto& a, const auto& b) { return a.value > b.value; });
  if (heads.size() > static_cast<std::size_t>(count)) heads.resize(static_cast<std::size_t>(count));
  return heads;
}

}  // namespace attnscope
