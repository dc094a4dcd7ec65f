// File: logit_lens.h
// What the model would say if it ended after each layer (nostalgebraist 2020).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

struct LogitLensOptions {
  int top_k = 10;
  Engine engine = Engine::automatic;
  // What is looked for; several count by their best rank and their mean log-probability. Empty: at
  // each position what the whole model says there first.
  std::vector<std::int64_t> targets;
  // Logits held at once; more positions are taken in turn.
  std::int64_t block = std::int64_t{1} << 22;
};

// Axes: s stages (0 after the embedding, l after layer l − 1; the last is the model itself), q
// positions, k first choices, best first. All on the CPU.
struct LogitLens {
  at::Tensor top_id;           // [s q k] int64
  at::Tensor top_prob;         // [s q k] float64
  at::Tensor target_rank;      // [s q] int64: number of tokens with a larger logit
  at::Tensor target_log_prob;  // [s q] float64
  at::Tensor kl;               // [s q] float64: KL(model ‖ stage), nats
  at::Tensor first_choice;     // [q] int64, of the model
};

// Why this model has no lens; empty when it has one.
std::string lens_obstacle(const ModelConfig& config);

// What one prompt of `length` tokens takes beside the weights, in bytes, about.
std::uint64_t lens_memory(const ModelConfig& config, std::int64_t length, std::size_t value_size);

// One forward pass of the model, and its head once a stage. Throws Error LE01 (exit 2) for a model
// with an obstacle, or a target that does not exist.
LogitLens logit_lens(const Model& model, const TokenRow& row, const LogitLensOptions& options);

}  // namespace attnscope
