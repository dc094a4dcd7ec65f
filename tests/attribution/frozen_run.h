// File: frozen_run.h
// The slow way to a direct effect: a whole run in which every later part keeps its clean value and
// every norm divides by its clean scale.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "parity/recorder.h"

namespace attnscope::testing {

// A model, one prompt of it, and all values of its clean run.
struct CleanRun {
  const Model& model;
  Batch batch;
  Outcome outcome;

  CleanRun(const Model& of_model, const TokenRow& row);
  const at::Tensor& value(Site site, int layer = -1) const {
    return outcome.values.at({site, layer});
  }
};

// Outputs [q c] when attn_out or mlp_out of `layer` becomes `value` [1 q m] and nothing behind it
// answers.
at::Tensor frozen_outputs(const CleanRun& clean, HookId part, const at::Tensor& value);

// What attn_out of `layer` becomes when `removed` [1 q m] is taken from the sum of the heads'
// results, with the scale of a norm behind attention held.
at::Tensor attn_out_without(const CleanRun& clean, int layer, const at::Tensor& removed);

}  // namespace attnscope::testing
