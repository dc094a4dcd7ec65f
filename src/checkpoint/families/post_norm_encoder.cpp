#include "post_norm_encoder.h"

#include <cmath>

#include "heads.h"

namespace attnscope {

ModelConfig read_post_norm_encoder(const FamilyInput& input, const EncoderDefaults& defaults) {
  const JsonObject& json = input.json;
  require_value(json, "position_embedding_type", "absolute");
  refuse_true(json, "add_cross_attention");
  ModelConfig config;
  config.stack = StackKind::encoder_only;
  config.d_vocab = read_size(json, {"vocab_size"}, defaults.d_vocab, kVocabRange);
  config.d_model = read_size(json, {"hidden_size"}, defaults.d_model, kWidthRange);
  config.d_embed = config.d_model;
  config.n_layers = read_size(json, {"num_hidden_layers"}, defaults.n_layers, kLayerRange);
  config.n_distinct_layers = config.n_layers;
  config.n_context =
      read_size(json, {"max_position_embeddings"}, defaults.n_context, kContextRange);
  config.token_types = read_size(json, {"type_vocab_size"}, defaults.token_types, kVocabRange);

  AttentionSpec spec;
  spec.n_heads = read_size(json, {"num_attention_heads"}, defaults.n_heads, kHeadRange);
  spec.n_kv_heads = spec.n_heads;
  require_divides(json, "num_attention_heads", spec.n_heads, "hidden_size", config.d_model);
  spec.d_head = config.d_model / spec.n_heads;
  spec.scale = 1 / std::sqrt(static_cast<double>(spec.d_head));
  spec.mask = read_flag(json, "is_decoder", false) ? MaskKind::causal : MaskKind::bidirectional;
  const int d_mlp = read_size(json, {"intermediate_size"}, defaults.d_mlp, kWidthRange);
  config.layers.assign(static_cast<std::size_t>(config.n_layers),
                       {.attention = spec, .d_mlp = d_mlp});

  config.norm_eps = read_epsilon(json, "layer_norm_eps", 1e-12);
  config.placement = NormPlacement::post;
  config.embed_norm = true;
  config.final_norm = false;
  config.activation = read_activation(json, {"hidden_act"}, defaults.activation);
  config.head_activation = config.activation;
  config.tied_head = read_flag(json, "tie_word_embeddings", true);
  config.pad_id = read_token_id(json, "pad_token_id", defaults.pad_id);
  config.bos_id = read_token_id(json, "bos_token_id", defaults.bos_id);
  config.eos_id = read_token_id(json, "eos_token_id", defaults.eos_id);
  apply_head(config, input);
  return config;
}

void add_encoder_tensors(MapBuilder& map, const std::string& base) {
  const std::string layer = base + "encoder.layer.{l}.";
  map.add(Role::token_embedding, base + "embeddings.word_embeddings.weight")
      .add(Role::position_embedding, base + "embeddings.position_embeddings.weight")
      .add(Role::token_type_embedding, base + "embeddings.token_type_embeddings.weight")
      .add_pair(Role::embed_norm_weight, Role::embed_norm_bias, base + "embeddings.LayerNorm")
      .add_pair(Role::q_weight, Role::q_bias, layer + "attention.self.query")
      .add_pair(Role::k_weight, Role::k_bias, layer + "attention.self.key")
      .add_pair(Role::v_weight, Role::v_bias, layer + "attention.self.value")
      .add_pair(Role::o_weight, Role::o_bias, layer + "attention.output.dense")
      .add_pair(Role::ln1_weight, Role::ln1_bias, layer + "attention.output.LayerNorm")
      .add_pair(Role::mlp_in_weight, Role::mlp_in_bias, layer + "intermediate.dense")
      .add_pair(Role::mlp_out_weight, Role::mlp_out_bias, layer + "output.dense")
      .add_pair(Role::ln2_weight, Role::ln2_bias, layer + "output.LayerNorm");
}

void add_unused_encoder_tensors(MapBuilder& map) {
  map.unused("*embeddings.position_ids", "position buffer")
      .unused("*embeddings.token_type_ids", "token type buffer")
      .unused("*pooler.*", "pooler")
      .unused("cls.*", "head of another task")
      .unused("lm_head.*", "head of another task")
      .unused("classifier.*", "head of another task")
      .unused("qa_outputs.*", "head of another task");
}

}  // namespace attnscope
