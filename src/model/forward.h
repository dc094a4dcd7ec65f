// File: forward.h
// What whole and resumed runs share.
#pragma once

#include <c10/core/AutogradState.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include "layers.h"

namespace attnscope {

// Inference mode is a property of the thread: entered for each run. With gradients autograd records
// instead, whatever the caller's mode is.
class RunGuard {
 public:
  explicit RunGuard(Gradients gradients);

 private:
  c10::InferenceMode inference_;
  c10::AutoGradMode gradient_;
};

// Throws Error (exit 2) for rows beyond the context and options that do not fit the model.
void check_run(const ModelWeights& model, const Batch& batch, const RunOptions& options);

// The layers from `first_layer` on, which starts at `entry`, and the head.
RunResult run_layers(Run& run, int first_layer, BlockEntry entry);

}  // namespace attnscope
