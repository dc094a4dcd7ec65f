// File: base_run.h
// The clean runs of some prompts of one length, and of their donors, with what cells start from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "attnscope/capture/memory_sink.h"
#include "attnscope/probes/sweep.h"

namespace attnscope {

// Whether the metric of the first donors is wanted beside their values.
enum class DonorMetric : std::uint8_t { skipped, measured };

// What has to be kept of the runs of a chunk.
struct BaseNeeds {
  std::set<HookId> clean;               // hooks of the prompts themselves
  std::vector<std::set<HookId>> donor;  // by donor
  DonorMetric donor_metric = DonorMetric::skipped;
};

// Prompts of one length, run as one batch without pads.
struct BaseRun {
  std::vector<int> prompts;  // indices into the sweep's prompts
  int length = 0;
  std::shared_ptr<const RunBase> keys;
  std::unique_ptr<MemorySink> clean;
  std::vector<std::unique_ptr<MemorySink>> donors;  // by donor
  std::vector<at::Tensor> compared;                 // what the metric compares with, by prompt
  std::vector<MetricValue> metric;                  // of the clean rows in this batch
  std::vector<double> donor_metric;                 // of the first donors; empty when not measured

  int size() const { return static_cast<int>(prompts.size()); }
};

// What the metric reads of a run of `mode`.
LogitsCoverage coverage_of(SweepMode mode);

BaseRun run_base(const Model& model, const std::vector<SweepPrompt>& prompts,
                 std::vector<int> chunk, const BaseNeeds& needs, const SweepSettings& settings,
                 const std::vector<Observer*>& observers = {});

}  // namespace attnscope
