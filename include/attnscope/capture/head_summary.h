// File: head_summary.h
// Mean head statistics over prompts, and which heads stand out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/sites/selectors.h"

namespace attnscope {

struct LeadingHead {
  HeadId head;
  double value = 0;
};

// Means over the prompts on which a statistic is defined.
class HeadSummary {
 public:
  HeadSummary() = default;
  explicit HeadSummary(std::vector<int> heads_per_layer);

  // `stats` [h s] of one layer of one prompt; NaN values are left out.
  void add(int layer, std::span<const float> stats);

  bool empty() const { return heads_per_layer_.empty(); }
  const std::vector<int>& heads_per_layer() const { return heads_per_layer_; }
  // NaN where the statistic was defined on no prompt.
  double mean(HeadId head, HeadStat stat) const;
  // The `count` heads with the largest mean, largest first, ties by name; undefined ones left out.
  std::vector<LeadingHead> top(HeadStat stat, int count) const;

 private:
  std::size_t slot(int layer, int head, HeadStat stat) const;
  std::vector<int> heads_per_layer_;
  std::vector<std::size_t> first_;  // slot of head 0 of each layer
  std::vector<double> sums_;
  std::vector<std::int64_t> counts_;
};

}  // namespace attnscope
