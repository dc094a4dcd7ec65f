// https://arxiv.org/abs/2204.06745; the keys and defaults are those of GPTNeoXConfig.
#include <cmath>
#include <string>

#include "config_keys.h"
#include "heads.h"
#include "map_builder.h"
#include "registry.h"
#include "rope_keys.h"

namespace attnscope {
namespace {

ModelConfig configure(const FamilyInput& input) {
  const JsonObject& json = input.json;
  ModelConfig config;
  config.stack = StackKind::decoder_only;
  config.d_vocab = read_size(json, {"vocab_size"}, 50432, kVocabRange);
  config.d_model = read_size(json, {"hidden_size"}, 6144, kWidthRange);
  config.d_embed = config.d_model;
  config.n_layers = read_size(json, {"num_hidden_layers"}, 44, kLayerRange);
  config.n_distinct_layers = config.n_layers;
  config.n_context = read_size(json, {"max_position_embeddings"}, 2048, kContextRange);

  AttentionSpec spec;
  spec.n_heads = read_size(json, {"num_attention_heads"}, 64, kHeadRange);
  spec.n_kv_heads = spec.n_heads;
  require_divides(json, "num_attention_heads", spec.n_heads, "hidden_size", config.d_model);
  spec.d_head = config.d_model / spec.n_heads;
  spec.scale = 1 / std::sqrt(static_cast<double>(spec.d_head));
  spec.mask = MaskKind::causal;
  spec.rotary = true;
  spec.rope = read_rope(json,
                        {.theta = 10000,
                         .theta_key = "rotary_emb_base",
                         .d_head = spec.d_head,
                         .n_context = config.n_context,
                         .rotary_fraction = read_number(json, "rotary_pct", 0.25, {1e-6, 1})},
                        "full_attention");
  const int d_mlp = read_size(json, {"intermediate_size"}, 24576, kWidthRange);
  config.layers.assign(static_cast<std::size_t>(config.n_layers),
                       {.attention = spec, .d_mlp = d_mlp});

  config.norm_eps = read_epsilon(json, "layer_norm_eps", 1e-5);
  config.parallel_block = read_flag(json, "use_parallel_residual", true);
  config.position = PositionKind::rotary;
  config.activation = read_activation(json, {"hidden_act"}, "gelu");
  config.tied_head = read_flag(json, "tie_word_embeddings", false);
  config.pad_id = read_token_id(json, "pad_token_id", -1);
  config.bos_id = read_token_id(json, "bos_token_id", 0);
  config.eos_id = read_token_id(json, "eos_token_id", 2);
  apply_head(config, input);
  return config;
}

TensorMap map(const ModelConfig& config, const FamilyInput& input) {
  const std::string layer = "gpt_neox.layers.{l}.";
  const std::string attention = layer + "attention.";
  MapBuilder map(config);
  map.add(Role::token_embedding, "gpt_neox.embed_in.weight")
      .add_pair(Role::ln1_weight, Role::ln1_bias, layer + "input_layernorm")
      .add(Role::qkv_weight, attention + "query_key_value.weight", Layout::qkv_per_head)
      .add(Role::o_weight, attention + "dense.weight")
      .add_pair(Role::ln2_weight, Role::ln2_bias, layer + "post_attention_layernorm")
      .add_pair(Role::mlp_in_weight, Role::mlp_in_bias, layer + "mlp.dense_h_to_4h")
      .add_pair(Role::mlp_out_weight, Role::mlp_out_bias, layer + "mlp.dense_4h_to_h")
      .add_pair(Role::final_norm_weight, Role::final_norm_bias, "gpt_neox.final_layer_norm")
      .unused("*.attention.bias", "causal mask buffer")
      .unused("*.attention.masked_bias", "causal mask buffer")
      .unused("*.rotary_emb.inv_freq", "rotary frequencies, recomputed");
  if (read_flag(input.json, "attention_bias", true)) {
    map.add(Role::qkv_bias, attention + "query_key_value.bias", Layout::qkv_per_head)
        .add(Role::o_bias, attention + "dense.bias");
  }

  if (config.head == HeadKind::language_model) {
    if (config.tied_head) {
      map.twin("embed_out.weight", "gpt_neox.embed_in.weight");
    } else {
      map.add(Role::head_weight, "embed_out.weight");
    }
  } else if (config.head == HeadKind::classifier) {
    if (config.classifier == ClassifierKind::every_token) {
      map.add_pair(Role::head_weight, Role::head_bias, "classifier");
    } else {
      map.add(Role::head_weight, "score.weight");
    }
  }
  for (const char* head : {"embed_out.*", "score.*", "classifier.*", "qa_outputs.*"}) {
    map.unused(head, "head of another task");
  }
  return map.take();
}

}  // namespace

Family gpt_neox_family() {
  return {.name = "gpt_neox",
          .model_types = {"gpt_neox"},
          .architectures =
              {
                  {"GPTNeoXForCausalLM", {HeadKind::language_model}, ""},
                  {"GPTNeoXForSequenceClassification",
                   {HeadKind::classifier, ClassifierKind::last_token},
                   "score.weight"},
                  {"GPTNeoXForTokenClassification",
                   {HeadKind::classifier, ClassifierKind::every_token},
                   "classifier.weight"},
                  {"GPTNeoXForQuestionAnswering", {HeadKind::none}, ""},
                  {"GPTNeoXModel", {HeadKind::none}, ""},
              },
          .base_prefix = "gpt_neox.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
