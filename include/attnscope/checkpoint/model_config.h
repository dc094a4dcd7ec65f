// File: model_config.h
// What a checkpoint's configuration says about the model, in one plain struct that every family
// fills and the runtime reads. No family's name appears outside its own file; what differs between
// families is a value here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/kernels/attention_spec.h"
#include "attnscope/sites/tensor_view.h"

namespace attnscope {

enum class StackKind : std::uint8_t { decoder_only, encoder_only, encoder_decoder };

enum class NormKind : std::uint8_t { none, layer_norm, rms_norm };

// Where a block normalises.
enum class NormPlacement : std::uint8_t {
  none,      // no norm at all
  pre,       // before attention and before the MLP
  post,      // after each residual sum
  sandwich,  // before and after each part, inside the residual branch
};

enum class Activation : std::uint8_t {
  relu,
  gelu,       // exact, with erf
  gelu_tanh,  // the tanh approximation: gelu_new, gelu_pytorch_tanh, gelu_fast
  silu,       // swish
  identity,
};

enum class MlpKind : std::uint8_t { none, plain, gated };

enum class PositionKind : std::uint8_t { none, learned, rotary };

// What reads the last hidden state.
enum class HeadKind : std::uint8_t {
  none,            // hidden states only
  language_model,  // [v m], next token
  masked_lm,       // dense, activation, norm, [v e]
  classifier,      // see ClassifierKind
};

// How a sequence classifier reads the hidden states.
enum class ClassifierKind : std::uint8_t {
  pooled_tanh,  // tanh(dense(first token)), then a linear layer (bert, roberta, albert)
  pooled_relu,  // relu(dense(first token)), then a linear layer (distilbert)
  first_token,  // a linear layer on the first position
  every_token,  // a linear layer on each position (token classification)
  last_token,   // a linear layer on the last real position (decoders)
};

struct LayerConfig {
  AttentionSpec attention;
  int d_mlp = 0;
};

struct ModelConfig {
  std::string family;        // "llama"
  std::string architecture;  // "LlamaForCausalLM"
  std::string name;          // folder or file name, for people
  StackKind stack = StackKind::decoder_only;

  int d_vocab = 0;      // v
  int d_vocab_out = 0;  // size of the head's output: v, or the number of labels
  int d_model = 0;      // m
  int d_embed = 0;      // e: size of the embeddings, m unless they are factorised
  int n_layers = 0;
  int n_context = 0;  // longest prompt
  std::vector<LayerConfig> layers;
  // Number of distinct layers in the checkpoint; layer l uses the weights of layer l mod this.
  int n_distinct_layers = 0;

  NormKind norm = NormKind::layer_norm;
  NormPlacement placement = NormPlacement::pre;
  double norm_eps = 1e-5;
  double norm_weight_offset = 0;  // 1 where the stored gain is added to one
  bool embed_norm = false;        // a norm right after the embeddings
  bool final_norm = true;
  bool parallel_block = false;  // attention and MLP read the same residual, outputs are summed
  // With parallel_block: one norm feeds both parts instead of two.
  bool parallel_single_norm = false;

  PositionKind position = PositionKind::learned;
  int position_offset = 0;      // added to the position id before the table is read
  int token_types = 0;          // size of the token type table; 0 = none
  double embed_multiplier = 1;  // on the token embedding
  double residual_multiplier = 1;
  double logit_multiplier = 1;
  double final_softcap = 0;  // on the logits; 0 = none

  MlpKind mlp = MlpKind::plain;
  Activation activation = Activation::gelu;

  HeadKind head = HeadKind::language_model;
  ClassifierKind classifier = ClassifierKind::pooled_tanh;
  Activation head_activation = Activation::gelu;  // of the masked-LM transform
  bool head_norm = true;                          // the masked-LM transform has a norm
  bool tied_head = false;                         // the head reads the token embedding
  std::vector<std::string> labels;                // of a classifier, by id

  // −1 where the configuration names none. Position ids of a model whose table starts after the pad
  // id are position_offset + index among the real tokens.
  int pad_id = -1, bos_id = -1, eos_id = -1;
  // The prompt's own pad_id tokens count as pads: as keys they are masked, as queries they still
  // run. Small research models that are trained on rows padded to one length.
  bool mask_pad_keys = false;

  DType stored_dtype = DType::f32;  // what the configuration names, else the token embedding's
  std::string config_json;          // the file's text
  std::string config_path;

  int n_heads(int layer) const { return layers[static_cast<std::size_t>(layer)].attention.n_heads; }
};

}  // namespace attnscope
