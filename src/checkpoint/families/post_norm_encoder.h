// File: post_norm_encoder.h
// Encoders that normalise after each residual sum: what their configurations and tensors share.
#pragma once

#include <string>

#include "config_keys.h"
#include "family.h"
#include "map_builder.h"

namespace attnscope {

// Defaults of the family's configuration class.
struct EncoderDefaults {
  int d_vocab = 30522;
  int d_model = 768;
  int d_mlp = 3072;
  int n_layers = 12;
  int n_heads = 12;
  int n_context = 512;
  int token_types = 2;
  std::string activation = "gelu";
  int pad_id = 0, bos_id = -1, eos_id = -1;
};

// Reads hidden_size, num_hidden_layers … and sets bidirectional attention (causal under
// is_decoder), learned positions, an embedding norm and layer norms after each sum.
ModelConfig read_post_norm_encoder(const FamilyInput& input, const EncoderDefaults& defaults);

// Embeddings and layers under `base` ("bert."), with the names "encoder.layer.{l}.attention.self…".
void add_encoder_tensors(MapBuilder& map, const std::string& base);

// Marks the tensors of heads and poolers that this model does not use.
void add_unused_encoder_tensors(MapBuilder& map);

}  // namespace attnscope
