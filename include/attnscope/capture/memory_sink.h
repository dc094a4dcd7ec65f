// File: memory_sink.h
// Keeps what a run shows in memory: for tests, notebooks-like programs and experiments.
//
// Example:
//   const MemoryCapture seen = capture_to_memory(model, batch, "pattern,z");
//   seen.values.at({Site::pattern, 5});  // [b h q k]
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "attnscope/core/taps.h"
#include "attnscope/model/model.h"

namespace attnscope {

// An observer that copies the hooks it was given. Used for several runs it copies into the tensors
// it has when the shapes are the same, so that a loop of runs allocates once.
class MemorySink : public Observer {
 public:
  enum class Statistics { off, on };
  MemorySink(std::vector<HookId> hooks, Statistics statistics);
  // Values alone.
  explicit MemorySink(const std::set<HookId>& hooks);

  // Tensors as the run showed them, pads included: see unpadded(). Maps are [b h q k].
  const std::map<HookId, at::Tensor>& values() const { return values_; }
  // Statistics of each batch row, without pads, by the pattern's hook.
  const std::map<HookId, std::vector<AttentionStatistics>>& statistics() const {
    return statistics_;
  }

  Want want(HookId hook) const override;
  void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override;
  void on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) override;
  void on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                     const Batch& batch) override;

 private:
  std::vector<HookId> hooks_;  // sorted
  Statistics statistics_wanted_;
  std::map<HookId, at::Tensor> values_;
  std::map<HookId, std::vector<AttentionStatistics>> statistics_;
};

struct MemoryCapture {
  std::map<HookId, at::Tensor> values;
  std::map<HookId, std::vector<AttentionStatistics>> statistics;
  RunResult result;
};

// One run with `hooks` (names, short names, globs) and the statistics of every layer kept.
MemoryCapture capture_to_memory(const Model& model, const Batch& batch, std::string_view hooks,
                                const RunOptions& options = {});

}  // namespace attnscope
