// File: gated_decoder.h
// Decoders with RMS norms, rotary positions and a gated MLP, whose configuration and tensors share
// one set of names. Each family gives its class defaults and what it adds.
#pragma once

#include <string>
#include <vector>

#include "family.h"

namespace attnscope {

// Defaults of the family's configuration class.
struct GatedDecoderDefaults {
  int d_vocab = 0;
  int d_model = 0;
  int d_mlp = 0;
  int n_layers = 0;
  int n_heads = 0;
  int n_kv_heads = 0;  // 0: as many as query heads
  int d_head = 0;      // 0: d_model / n_heads
  int n_context = 0;
  std::string activation = "silu";
  double theta = 10000;
  int pad_id = -1, bos_id = -1, eos_id = -1;
  bool tied_head = false;
};

// Sizes, norms, rotary positions and head, with full attention in every layer.
ModelConfig read_gated_decoder(const FamilyInput& input, const GatedDecoderDefaults& defaults);

// One entry a layer: "full_attention" or "sliding_attention", from layer_types or `fallback`.
std::vector<std::string> read_layer_types(const FamilyInput& input, int n_layers,
                                          std::vector<std::string> fallback);

// Gives the sliding layers their window, and their own rotary settings where the file has some.
void apply_layer_types(ModelConfig& config, const FamilyInput& input,
                       const GatedDecoderDefaults& defaults, const std::vector<std::string>& types,
                       int window);

// use_sliding_window, sliding_window and max_window_layers: layers from max_window_layers on slide.
void apply_optional_window(ModelConfig& config, const FamilyInput& input,
                           const GatedDecoderDefaults& defaults);

enum class Biases { none, qkv, qkv_and_output };
enum class MlpBias { no, yes };

struct GatedDecoderTensors {
  Biases attention = Biases::none;
  MlpBias mlp = MlpBias::no;
};

// All tensors of a pre-norm or sandwich-norm block, embeddings, final norm and head.
TensorMap gated_decoder_map(const ModelConfig& config, const GatedDecoderTensors& tensors);

// ForCausalLM, Model, ForSequenceClassification and ForTokenClassification of a library class
// prefix, which must be a literal that outlives the program.
struct DecoderNames {
  const char* causal_lm;
  const char* base;
  const char* sequence_classification;
  const char* token_classification;
};
std::vector<Architecture> decoder_architectures(const DecoderNames& names);

}  // namespace attnscope
