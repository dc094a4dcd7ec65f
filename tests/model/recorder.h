// File: recorder.h
// An observer that keeps a copy of everything it is shown, for comparisons.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <vector>

#include "attnscope/core/taps.h"

namespace attnscope::testing {

class Recorder final : public Observer {
 public:
  // Records all sites of `sites`; none given means every site.
  explicit Recorder(std::set<Site> sites = {}) : sites_(std::move(sites)) {}

  Want want(HookId hook) const override;
  void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override;
  void on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) override;
  void on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                     const Batch& batch) override;

  bool has(HookId hook) const { return values_.contains(hook); }
  // The value of a site, or the whole map, as double on the CPU.
  at::Tensor value(HookId hook) const;
  const std::vector<AttentionStatistics>& statistics(int layer) const {
    return statistics_.at(layer);
  }

  bool statistics_wanted = false;
  std::vector<int> heads;  // of maps; empty = all

 private:
  std::set<Site> sites_;
  std::map<HookId, std::vector<at::Tensor>> values_;  // maps: blocks of rows in order
  std::map<int, std::vector<AttentionStatistics>> statistics_;
};

// Largest |a − b|.
double largest_difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace attnscope::testing
