// File: recorder.h
// An observer that keeps what it sees of one row, for comparisons.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <set>

#include "attnscope/core/taps.h"

namespace attnscope {

class Recorder : public Observer {
 public:
  // Keeps the sites of `sites` in every layer, of row `row` of the batch, without pads.
  explicit Recorder(std::set<Site> sites, int row = 0) : sites_(std::move(sites)), row_(row) {}

  Want want(HookId hook) const override;
  void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override;
  void on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) override;

  bool has(HookId hook) const { return values_.contains(hook); }
  // [q …], or [h q k] for scores and patterns; float64.
  at::Tensor value(HookId hook) const { return values_.at(hook); }

 private:
  std::set<Site> sites_;
  int row_;
  std::map<HookId, at::Tensor> values_;
};

}  // namespace attnscope
