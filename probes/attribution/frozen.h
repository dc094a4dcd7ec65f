// File: frozen.h
// Norms with their scale held, and other pieces of the way to the logits.
#pragma once

#include <ATen/core/Tensor.h>

#include "attnscope/model/model.h"

namespace attnscope {

// float32, or float64 in a float64 model.
at::Tensor wide(const at::Tensor& x);
// A weight as wide(); undefined when the model has none.
at::Tensor wide_weight(const Model& model, Role role, int layer = -1);
// A norm's gain with its offset.
at::Tensor gain_of(const Model& model, Role role, int layer = -1);

bool has_norms(const ModelConfig& config);
bool is_post_norm(const ModelConfig& config);
bool is_sandwich(const ModelConfig& config);
bool has_final_norm(const ModelConfig& config);

// x without its mean in LayerNorm models.
at::Tensor centred(const ModelConfig& config, const at::Tensor& x);
// The scale by which a norm divides x [… m] → [… 1].
at::Tensor norm_scale(const ModelConfig& config, const at::Tensor& x);

// W_O by head [h d m].
at::Tensor output_by_head(const Model& model, int layer);

// The site that holds what the final norm, or the head, reads.
HookId end_of_stream(const ModelConfig& config);

}  // namespace attnscope
