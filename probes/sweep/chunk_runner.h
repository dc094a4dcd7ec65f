// File: chunk_runner.h
// Runs the batches of one chunk.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/probes/sweep.h"
#include "base_run.h"
#include "plan.h"

namespace attnscope {

// What a batch says of one cell on one prompt of the sweep.
struct Measured {
  int cell = 0;
  int prompt = 0;
  double effect = 0;
  double placebo = 0;
};

// A batch's findings. `untouched` is the largest difference of its untouched rows from the chunk's
// own clean run.
struct BatchFindings {
  std::vector<Measured> measured;
  double untouched = 0;
};

class ChunkRunner {
 public:
  // Runs the chunk's prompts and donors once.
  ChunkRunner(const Model& model, const std::vector<Cell>& cells,
              const std::vector<SweepPrompt>& prompts, const SweepWork& work, const Chunk& chunk,
              const SweepSettings& settings, DonorMetric donor_metric);

  // Safe to call from several threads.
  BatchFindings run_block(const BlockItem& block) const;
  BatchFindings run_wave(const WaveItem& wave) const;
  // The metric of a whole run of one prompt of the chunk, `cell` −1 for the untouched one.
  MetricValue run_naive(int cell, int place) const;
  // Cells that cannot reach what is read: their effect is 0.
  std::vector<Measured> unreachable() const;

  const BaseRun& base() const { return base_; }

 private:
  const SweepPrompt& prompt(int place) const {
    return prompts_[static_cast<std::size_t>(base_.prompts[static_cast<std::size_t>(place)])];
  }
  const CellRoute& route(const RowRef& row) const {
    return work_.routes[static_cast<std::size_t>(row.cell)];
  }
  // `rows` and as many pads as equal rows need.
  std::vector<RowRef> filled_up(std::vector<RowRef> rows) const;
  // Values [b …] of live rows with copies of the first for the pads, `rows` in all.
  at::Tensor filled_up(const at::Tensor& x, std::size_t rows) const;
  at::Tensor entry_rows(HookId hook, const std::vector<RowRef>& rows) const;
  at::Tensor noise(const Cell& cell, const Edit& edit, const RowRef& row) const;
  void add_edits(const RowRef& row, int batch_row, ResumePoint point, int end, ResumeInput& input,
                 Taps& taps) const;
  void run_variants();
  at::Tensor change_of(const Variant& variant, ResumePoint point) const;
  RunOptions options_for(const MetricReader& reader) const;
  MetricReader reader_of(const std::vector<RowRef>& rows) const;
  BatchFindings findings(const std::vector<RowRef>& rows, const MetricReader& reader,
                         const RunResult& result, const Batch& batch) const;
  ResumeRows resume_rows(const std::vector<RowRef>& rows, int first) const;

  const Model& model_;
  const std::vector<Cell>& cells_;
  const std::vector<SweepPrompt>& prompts_;
  const SweepWork& work_;
  const SweepSettings& settings_;
  int row_multiple_ = 1;
  BaseRun base_;
  // By variant: what the residual that the next layer reads changes by, [p n m].
  std::vector<at::Tensor> changes_;
};

}  // namespace attnscope
