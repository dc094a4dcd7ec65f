// File: layer_statistics.h
// The statistics of one layer that observers of the pattern want, whichever engine makes the rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "attnscope/kernels/attention_statistics.h"
#include "run.h"

namespace attnscope {

// Keys kept a row where some user of the pattern wants statistics; `users` may be null.
std::optional<int> wanted_top_k(const HookUsers* users);

// What the statistics of one layer are about, by batch row, without pads. Throws Error MO21 for
// runs that start behind position 0.
std::vector<StatisticsShape> statistics_shapes(const Run& run, int layer, int top_k);

// Gives finished statistics, by batch row, to those that want them.
void give_statistics(const Run& run, const HookUsers& users,
                     std::span<const AttentionStatistics> finished);

class LayerStatistics {
 public:
  // Wants nothing unless some user of the layer's pattern does; `users` may be null. Throws like
  // statistics_shapes().
  LayerStatistics(Run& run, int layer, const HookUsers* users);

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
