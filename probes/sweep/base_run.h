// File: base_run.h
// The clean runs of some prompts of one length, and of their donors, with what cells start from.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "attnscope/probes/sweep.h"

namespace attnscope {

// Keeps the values of some hooks of one run; maps are put together from their rows.
class ValueKeeper : public Observer {
 public:
  explicit ValueKeeper(std::set<HookId> hooks) : hooks_(std::move(hooks)) {}
  Want want(HookId hook) const override;
  void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override;
  void on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) override;
  // [b …] as the run saw it.
  at::Tensor value(HookId hook) const;

 private:
  std::set<HookId> hooks_;
  std::map<HookId, at::Tensor> values_;
  std::map<HookId, std::vector<at::Tensor>> rows_;  // blocks of maps in query order
};

// What has to be kept of the runs of a chunk.
struct BaseNeeds {
  std::set<HookId> clean;               // hooks of the prompts themselves
  std::vector<std::set<HookId>> donor;  // by donor
};

// Prompts of one length, run as one batch without pads.
struct BaseRun {
  std::vector<int> prompts;  // indices into the sweep's prompts
  int length = 0;
  std::shared_ptr<const RunBase> keys;
  std::unique_ptr<ValueKeeper> clean;
  std::vector<std::unique_ptr<ValueKeeper>> donors;  // by donor
  std::vector<at::Tensor> compared;                  // what the metric compares with, by prompt
  std::vector<MetricValue> metric;                   // of the clean rows in this batch
  std::vector<double> donor_metric;                  // of the first donors; empty without

  int size() const { return static_cast<int>(prompts.size()); }
};

// What the metric reads of a run of `mode`.
LogitsCoverage coverage_of(SweepMode mode);

BaseRun run_base(const Model& model, const std::vector<SweepPrompt>& prompts,
                 std::vector<int> chunk, const BaseNeeds& needs, const SweepSettings& settings,
                 const std::vector<Observer*>& observers = {});

// A batch of rows of one prompt set; token types only where the model has them.
Batch batch_of_rows(const ModelConfig& config, const std::vector<TokenRow>& rows);

}  // namespace attnscope
