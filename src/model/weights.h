// File: weights.h
// The weights of a model, named as the forward pass uses them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <map>
#include <memory>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model.h"

namespace attnscope {

struct Linear {
  at::Tensor weight;  // [out in]
  at::Tensor bias;    // [out], or undefined
  bool defined() const { return weight.defined(); }
  at::Tensor operator()(const at::Tensor& x) const;
};

// Gain and bias in float32 or better, the gain with its offset added.
struct Norm {
  at::Tensor gain;
  at::Tensor bias;
  bool defined() const { return gain.defined(); }
};

// How the output of the fused q-k-v projection is cut.
enum class QkvOrder : std::uint8_t {
  concatenated,  // q heads, k heads, v heads
  per_head,      // each head's q, k, v together
};

struct LayerWeights {
  Norm ln1, ln1_post, ln2, ln2_post;
  Linear qkv;  // [(h + 2 g)·d m]
  QkvOrder qkv_order = QkvOrder::concatenated;
  at::Tensor q_norm, k_norm;  // [d] with the gain's offset added
  Linear o;                   // [m h·d]
  at::Tensor sink;            // [h]
  Linear mlp_in;              // plain [f m]; gated [2 f m]: the gate, then the linear branch
  Linear mlp_out;             // [m f]
};

struct ModelWeights {
  ModelConfig config;
  DType dtype = DType::f32;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  std::uint64_t bytes = 0;
  SiteInventory sites;

  at::Tensor token_embedding;       // [v e]
  at::Tensor position_embedding;    // [n e]
  at::Tensor token_type_embedding;  // [types e]
  Norm embed_norm;
  Linear embed_projection;  // [m e]
  std::vector<LayerWeights> distinct_layers;
  Norm final_norm;
  Linear head_dense;
  Norm head_norm;
  Linear head;

  // Every weight in its canonical shape.
  std::map<std::pair<Role, int>, at::Tensor> by_role;

  const LayerWeights& layer(int index) const {
    return distinct_layers[static_cast<std::size_t>(index) % distinct_layers.size()];
  }
};

std::shared_ptr<const ModelWeights> load_weights(const Checkpoint& checkpoint,
                                                 const LoadOptions& options, Warnings& warnings);

}  // namespace attnscope
