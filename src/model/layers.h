// File: layers.h
// The parts of a forward pass. [b q m] is a batch of positions of the residual stream.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "run.h"

namespace attnscope {

// Where a norm's scale and normalised value are seen.
struct NormSites {
  Site scale{};
  Site normalized{};
  int layer = -1;
};

// Token, position and type embeddings → the residual before the first layer [b q m].
at::Tensor embed(Run& run);

// LayerNorm or RMSNorm over the last axis. Without sites nothing is shown.
at::Tensor normalize(Run& run, const Norm& norm, const at::Tensor& x,
                     std::optional<NormSites> sites);

at::Tensor activate(Activation activation, const at::Tensor& x);

// cap·tanh(x / cap).
at::Tensor soft_cap(const at::Tensor& x, double cap);

// What a layer starts with; see LayerPoint.
struct BlockEntry {
  LayerPoint point = LayerPoint::resid_pre;
  at::Tensor residual;
  at::Tensor z;
};

// One layer: what the next layer reads [b q m].
at::Tensor block(Run& run, int layer, const BlockEntry& entry);

// Heads' outputs z [b q h d] from the (normalised) residual x [b q m].
at::Tensor attention_heads(Run& run, int layer, const at::Tensor& x);
// z·W_O + b_O [b q m].
at::Tensor attention_output(Run& run, int layer, const at::Tensor& z);

// [b q m] → [b q m].
at::Tensor mlp(Run& run, int layer, const at::Tensor& x);

// Called before the last layer: under LastLayer::read_positions the run goes on with the positions
// that are read alone.
void narrow_to_reads(Run& run);

// Norm and head after the last layer; fills logits or hidden of the result.
void finish(Run& run, const at::Tensor& residual);

}  // namespace attnscope
