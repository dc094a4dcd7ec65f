// Radford et al. 2019; the keys and defaults are those of GPT2Config. Weights are stored [in out].
#include <cmath>
#include <string>

#include "config_keys.h"
#include "heads.h"
#include "map_builder.h"
#include "registry.h"

namespace attnscope {
namespace {

ModelConfig configure(const FamilyInput& input) {
  const JsonObject& json = input.json;
  refuse_true(json, "add_cross_attention");
  ModelConfig config;
  config.stack = StackKind::decoder_only;
  config.d_vocab = read_size(json, {"vocab_size"}, 50257, kVocabRange);
  config.d_model = read_size(json, {"n_embd", "hidden_size"}, 768, kWidthRange);
  config.d_embed = config.d_model;
  config.n_layers = read_size(json, {"n_layer", "num_hidden_layers"}, 12, kLayerRange);
  config.n_distinct_layers = config.n_layers;
  config.n_context =
      read_size(json, {"n_positions", "max_position_embeddings"}, 1024, kContextRange);

  AttentionSpec spec;
  spec.n_heads = read_size(json, {"n_head", "num_attention_heads"}, 12, kHeadRange);
  spec.n_kv_heads = spec.n_heads;
  require_divides(json, "n_head", spec.n_heads, "n_embd", config.d_model);
  spec.d_head = config.d_model / spec.n_heads;
  spec.mask = MaskKind::causal;
  const bool scaled = read_flag(json, "scale_attn_weights", true);
  const bool by_layer = read_flag(json, "scale_attn_by_inverse_layer_idx", false);
  const int d_mlp =
      read_size_or_null(json, "n_inner", 4 * config.d_model, 4 * config.d_model, kWidthRange);
  for (int l = 0; l < config.n_layers; ++l) {
    spec.scale = (scaled ? 1 / std::sqrt(static_cast<double>(spec.d_head)) : 1.0) /
                 (by_layer ? l + 1.0 : 1.0);
    config.layers.push_back({.attention = spec, .d_mlp = d_mlp});
  }

  config.norm_eps = read_epsilon(json, "layer_norm_epsilon", 1e-5);
  config.activation = read_activation(json, {"activation_function"}, "gelu_new");
  config.tied_head = read_flag(json, "tie_word_embeddings", true);
  config.pad_id = read_token_id(json, "pad_token_id", -1);
  config.bos_id = read_token_id(json, "bos_token_id", 50256);
  config.eos_id = read_token_id(json, "eos_token_id", 50256);
  apply_head(config, input);
  return config;
}

TensorMap map(const ModelConfig& config, const FamilyInput&) {
  const std::string layer = "transformer.h.{l}.";
  MapBuilder map(config);
  map.add(Role::token_embedding, "transformer.wte.weight")
      .add(Role::position_embedding, "transformer.wpe.weight")
      .add_pair(Role::ln1_weight, Role::ln1_bias, layer + "ln_1")
      .add(Role::qkv_weight, layer + "attn.c_attn.weight", Layout::qkv_concatenated_in_out)
      .add(Role::qkv_bias, layer + "attn.c_attn.bias", Layout::qkv_concatenated)
      .add_pair(Role::o_weight, Role::o_bias, layer + "attn.c_proj", Layout::in_out)
      .add_pair(Role::ln2_weight, Role::ln2_bias, layer + "ln_2")
      .add_pair(Role::mlp_in_weight, Role::mlp_in_bias, layer + "mlp.c_fc", Layout::in_out)
      .add_pair(Role::mlp_out_weight, Role::mlp_out_bias, layer + "mlp.c_proj", Layout::in_out)
      .add_pair(Role::final_norm_weight, Role::final_norm_bias, "transformer.ln_f")
      .unused("*.attn.bias", "causal mask buffer")
      .unused("*.attn.masked_bias", "causal mask buffer")
      .unused("multiple_choice_head.*", "head of another task");

  if (config.head == HeadKind::language_model) {
    if (config.tied_head) {
      map.twin("lm_head.weight", "transformer.wte.weight");
    } else {
      map.add(Role::head_weight, "lm_head.weight");
    }
  } else if (config.head == HeadKind::classifier) {
    if (config.classifier == ClassifierKind::every_token) {
      map.add_pair(Role::head_weight, Role::head_bias, "classifier");
    } else {
      map.add(Role::head_weight, "score.weight");
    }
  }
  for (const char* head : {"lm_head.*", "score.*", "classifier.*", "qa_outputs.*"}) {
    map.unused(head, "head of another task");
  }
  return map.take();
}

}  // namespace

Family gpt2_family() {
  const Head lm{HeadKind::language_model};
  return {.name = "gpt2",
          .model_types = {"gpt2"},
          .architectures =
              {
                  {"GPT2LMHeadModel", lm, ""},
                  {"GPT2DoubleHeadsModel", lm, ""},
                  {"GPT2ForSequenceClassification",
                   {HeadKind::classifier, ClassifierKind::last_token},
                   "score.weight"},
                  {"GPT2ForTokenClassification",
                   {HeadKind::classifier, ClassifierKind::every_token},
                   "classifier.weight"},
                  {"GPT2ForQuestionAnswering", {HeadKind::none}, ""},
                  {"GPT2Model", {HeadKind::none}, ""},
              },
          .base_prefix = "transformer.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
