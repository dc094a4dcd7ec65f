// File: run.h
// The state of one forward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "attnscope/core/host_copy.h"
#include "attnscope/core/row_frame.h"
#include "attnscope/core/tap_table.h"
#include "attnscope/model/run_options.h"
#include "deliveries.h"
#include "rope.h"
#include "weights.h"

namespace attnscope {

// Keys and values of a base run that the rows of a resumed run share.
struct SharedKeys {
  const RunBase* base = nullptr;
  std::vector<int> base_row;  // of each row
};

struct Run {
  Run(const ModelWeights& model, const Batch& batch, std::vector<RowFrame> row_frames,
      const Taps& taps, const RunOptions& options);

  const ModelWeights& model;
  const ModelConfig& config;
  const Batch& batch;
  const RunOptions& options;
  std::vector<RowFrame> frames;
  TapTable taps;
  // Slots [b 1] that the last layer reads, once the run has come to it and is narrowed to them;
  // `frames` then describes these queries, `key_frames` the rows that keys are made of.
  at::Tensor read_slots;
  std::vector<RowFrame> key_frames;
  // Set when some row starts behind position 0; the key axis then counts positions.
  const SharedKeys* shared = nullptr;
  std::shared_ptr<RunBase> recording;  // null unless a base is recorded
  at::Tensor map_scratch;              // rows of one block of maps, reused by every layer
  std::vector<at::Tensor> map_strips;  // the same of cpu_tiled; observers may still hold some
  RunResult result;
  HostCopies copies;      // from the model's device
  Deliveries deliveries;  // to observers

  at::Tensor tap(Site site, int layer, at::Tensor value) {
    return taps.apply(site, layer, std::move(value));
  }
  bool used(Site site, int layer) const { return taps.users(site, layer) != nullptr; }
  bool differentiable() const { return options.gradients == Gradients::on; }
  const RopeTable& rope(int layer);
  // Of the batch's rows [b q] int32 on the device: previous_same_ids() of each, −1 on pads.
  const at::Tensor& previous_same();
  bool narrowed() const { return read_slots.defined(); }
  // x [b q …] at the slots that are read; x itself unless the run is narrowed.
  at::Tensor read_rows(const at::Tensor& x) const;
  // Sizes of the axes of maps.
  int n_queries() const { return narrowed() ? 1 : batch.padded_length(); }
  int n_keys() const;

 private:
  // Layers with the same rotation share a table.
  std::vector<std::pair<const RopeSpec*, RopeTable>> rope_tables_;
  at::Tensor previous_same_;
};

// The type in which sums, norms and softmax are computed: float32 or better.
at::ScalarType accumulation_type(at::ScalarType type);

}  // namespace attnscope
