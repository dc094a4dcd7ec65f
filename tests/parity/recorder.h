// File: recorder.h
// Keeps what a run shows, and shorthands for runs that the tests of this folder need.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <set>
#include <vector>

#include "attnscope/core/taps.h"
#include "attnscope/model/model.h"

namespace attnscope::testing {

// Copies every hook it was asked for to the CPU, pads included. Maps are put together from their
// blocks.
class Recorder final : public Observer {
 public:
  explicit Recorder(const std::vector<HookId>& hooks) : hooks_(hooks.begin(), hooks.end()) {}

  Want want(HookId hook) const override;
  void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override;
  void on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) override;

  bool has(HookId hook) const { return blocks_.contains(hook); }
  // [b …]; the site's dims are in site.h.
  at::Tensor value(HookId hook) const;

 private:
  std::set<HookId> hooks_;
  std::map<HookId, std::vector<at::Tensor>> blocks_;
};

// Statistics of every layer, by batch row.
class StatisticsRecorder final : public Observer {
 public:
  Want want(HookId hook) const override;
  void on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                     const Batch& batch) override;

  const std::vector<AttentionStatistics>& layer(int l) const { return layers_.at(l); }
  int n_layers() const { return static_cast<int>(layers_.size()); }

 private:
  std::map<int, std::vector<AttentionStatistics>> layers_;
};

bool is_map(Site site);

// A run with all logits, or the hidden states of a model without a head.
struct Outcome {
  at::Tensor output;  // [b q v] or [b q m], on the CPU
  std::map<HookId, at::Tensor> values;
  RunResult result;
};
Outcome run_and_record(const Model& model, const Batch& batch, const std::vector<HookId>& hooks,
                       Taps taps = {}, RunOptions options = {.engine = Engine::reference});

// The part of a [b …] value, maps included, that belongs to `row`.
at::Tensor row_of(HookId hook, const at::Tensor& value, const Batch& batch, int row);

double largest_difference(const at::Tensor& a, const at::Tensor& b);
bool same_bits(const at::Tensor& a, const at::Tensor& b);

}  // namespace attnscope::testing
