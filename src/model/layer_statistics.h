// File: layer_statistics.h
// The statistics of one layer that observers of the pattern want, whichever engine makes the rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "attnscope/kernels/attention_statistics.h"
#include "run.h"

namespace attnscope {

class LayerStatistics {
 public:
  // Wants nothing unless some observer does. Throws Error MO21 for runs that start behind position
  // 0.
  LayerStatistics(Run& run, int layer);

  bool wanted() const { return !rows_.empty(); }
  // Of batch row `b`, without pads.
  StatisticsAccumulator& of_row(std::size_t b) { return rows_[b]; }
  // `v` [b k g d]. Adds the value norms and gives the statistics to those that want them.
  void finish(const at::Tensor& v);

 private:
  Run& run_;
  int layer_;
  const HookUsers* users_;
  std::vector<StatisticsAccumulator> rows_;
};

}  // namespace attnscope
