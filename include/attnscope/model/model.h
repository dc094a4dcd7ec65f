// File: model.h
// A transformer ready to run: weights in memory, every site of the forward pass observable and
// open to intervention.
//
// Example:
//   Warnings warnings;
//   const Checkpoint checkpoint = open_checkpoint("path/to/folder", {}, warnings);
//   const Model model = Model::load(checkpoint, {}, warnings);
//   const Batch batch = make_batch({{.ids = {1, 5, 9}}});
//   const RunResult result = model.run(batch, Taps{}, {});
//   result.logits;  // [b q v]
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/core/batch.h"
#include "attnscope/core/taps.h"
#include "attnscope/model/run_options.h"
#include "attnscope/sites/site.h"
#include "attnscope/support/warnings.h"

namespace attnscope {

struct LoadOptions {
  DType dtype = DType::f32;  // f32, f64, bf16 or f16; other stored types are converted
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  int reader_threads = 2;
  // strict: a non-finite weight is an error instead of a warning.
  Strictness strictness = Strictness::lenient;
};

struct ModelWeights;

// Immutable after loading: all methods are const and safe to call from several threads at once.
// Copies share the weights.
class Model {
 public:
  // Reads the weights of `checkpoint`. Throws Error: exit 4 when they do not fit into the memory
  // that is free, exit 2 when a file is cut, a tied twin differs, or (strict) a weight is not
  // finite.
  static Model load(const Checkpoint& checkpoint, const LoadOptions& options, Warnings& warnings);

  const ModelConfig& config() const;
  DType dtype() const;
  c10::Device device() const;
  std::uint64_t weight_bytes() const;
  // Every hook this model has, in the order of the forward pass.
  const SiteInventory& sites() const;

  // A weight in its canonical shape (see Role); undefined when the model has none. The parts of a
  // fused projection are given as q_weight, k_weight and v_weight. Must not be written to: it may
  // be a view of the model's own memory.
  at::Tensor weight(Role role, int layer = -1) const;

  // One forward pass. Throws Error: exit 2 for ids outside the vocabulary, rows longer than the
  // context, interventions that do not fit or never fire; exit 4 when memory runs out.
  RunResult run(const Batch& batch, const Taps& taps, const RunOptions& options) const;

  // The part of a forward pass from `point` on. `base` comes from a run with record_base and is
  // shared, not copied.
  RunResult run_from(ResumePoint point, const ResumeInput& input, const RunBase& base,
                     const ResumeRows& rows, const Taps& taps, const RunOptions& options) const;

 private:
  explicit Model(std::shared_ptr<const ModelWeights> weights);
  std::shared_ptr<const ModelWeights> weights_;
};

}  // namespace attnscope
