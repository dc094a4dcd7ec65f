#include "gated_decoder.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "config_keys.h"
#include "heads.h"
#include "map_builder.h"
#include "rope_keys.h"

namespace attnscope {
namespace {

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

int read_head_size(const JsonObject& json, const GatedDecoderDefaults& defaults, int d_model,
                   int n_heads) {
  if (json.has("head_dim")) return read_size(json, {"head_dim"}, 0, {1, 8192});
  if (defaults.d_head > 0 && json.value().find("head_dim") == json.value().end()) {
    return defaults.d_head;
  }
  require_divides(json, "num_attention_heads", n_heads, "hidden_size", d_model);
  return d_model / n_heads;
}

AttentionSpec read_attention(const JsonObject& json, const GatedDecoderDefaults& defaults,
                             const ModelConfig& config) {
  AttentionSpec spec;
  spec.n_heads = read_size(json, {"num_attention_heads"}, defaults.n_heads, kHeadRange);
  const int kv = defaults.n_kv_heads > 0 ? defaults.n_kv_heads : spec.n_heads;
  spec.n_kv_heads = read_size_or_null(json, "num_key_value_heads", kv, spec.n_heads, kHeadRange);
  require_divides(json, "num_key_value_heads", spec.n_kv_heads, "num_attention_heads",
                  spec.n_heads);
  spec.d_head = read_head_size(json, defaults, config.d_model, spec.n_heads);
  spec.scale = 1 / std::sqrt(static_cast<double>(spec.d_head));
  spec.mask = MaskKind::causal;
  spec.rotary = true;
  return spec;
}

RopeDefaults rope_defaults(const GatedDecoderDefaults& defaults, const ModelConfig& config,
                           const AttentionSpec& spec) {
  return {.theta = defaults.theta, .d_head = spec.d_head, .n_context = config.n_context};
}

}  // namespace

ModelConfig read_gated_decoder(const FamilyInput& input, const GatedDecoderDefaults& defaults) {
  const JsonObject& json = input.json;
  if (read_number(json, "partial_rotary_factor", 1, {1e-6, 1}) != 1) {
    not_supported(json, "partial_rotary_factor", "a part of the head's dims", {"1"});
  }
  ModelConfig config;
  config.stack = StackKind::decoder_only;
  config.d_vocab = read_size(json, {"vocab_size"}, defaults.d_vocab, kVocabRange);
  config.d_model = read_size(json, {"hidden_size"}, defaults.d_model, kWidthRange);
  config.d_embed = config.d_model;
  config.n_layers = read_size(json, {"num_hidden_layers"}, defaults.n_layers, kLayerRange);
  config.n_distinct_layers = config.n_layers;
  config.n_context =
      read_size(json, {"max_position_embeddings"}, defaults.n_context, kContextRange);

  AttentionSpec spec = read_attention(json, defaults, config);
  spec.rope = read_rope(json, rope_defaults(defaults, config, spec), kFull);
  const int d_mlp = read_size(json, {"intermediate_size"}, defaults.d_mlp, kWidthRange);
  config.layers.assign(static_cast<std::size_t>(config.n_layers),
                       {.attention = spec, .d_mlp = d_mlp});

  config.norm = NormKind::rms_norm;
  config.norm_eps = read_epsilon(json, "rms_norm_eps", 1e-6);
  config.position = PositionKind::rotary;
  config.mlp = MlpKind::gated;
  config.activation =
      read_activation(json, {"hidden_activation", "hidden_act"}, defaults.activation);
  config.tied_head = read_flag(json, "tie_word_embeddings", defaults.tied_head);
  config.pad_id = read_token_id(json, "pad_token_id", defaults.pad_id);
  config.bos_id = read_token_id(json, "bos_token_id", defaults.bos_id);
  config.eos_id = read_token_id(json, "eos_token_id", defaults.eos_id);
  apply_head(config, input);
  return config;
}

std::vector<std::string> read_layer_types(const FamilyInput& input, int n_layers,
                                          std::vector<std::string> fallback) {
  if (!input.json.has("layer_types")) return fallback;
  std::vector<std::string> types = input.json.strings_or_empty("layer_types");
  if (types.size() != static_cast<std::size_t>(n_layers)) {
    input.json.fail("layer_types", "", count_of(n_layers, "entry") + ", one a layer",
                    std::to_string(types.size()));
  }
  for (const std::string& type : types) {
    if (type != kFull && type != kSliding) {
      not_supported(input.json, "layer_types", quote(type, 40), {kFull, kSliding});
    }
  }
  return types;
}

void apply_layer_types(ModelConfig& config, const FamilyInput& input,
                       const GatedDecoderDefaults& defaults, const std::vector<std::string>& types,
                       int window) {
  for (std::size_t l = 0; l < config.layers.size(); ++l) {
    if (types[l] != kSliding) continue;
    if (window <= 0) {
      input.json.fail("sliding_window", "is needed by the sliding layers", "a number of keys", "");
    }
    AttentionSpec& spec = config.layers[l].attention;
    spec.window = window;
    spec.rope = read_rope(input.json, rope_defaults(defaults, config, spec), kSliding);
  }
}

void apply_optional_window(ModelConfig& config, const FamilyInput& input,
                           const GatedDecoderDefaults& defaults) {
  const JsonObject& json = input.json;
  const bool slides = read_flag(json, "use_sliding_window", false);
  const int written = read_size_or_null(json, "sliding_window", 4096, 0, kContextRange);
  const int window = slides ? written : 0;
  const int first = static_cast<int>(json.integer_or("max_window_layers", 28, {0, 1'000'000}));
  std::vector<std::string> types;
  for (int l = 0; l < config.n_layers; ++l) {
    types.emplace_back(window > 0 && l >= first ? kSliding : kFull);
  }
  types = read_layer_types(input, config.n_layers, std::move(types));
  apply_layer_types(config, input, defaults, types, window);
}

TensorMap gated_decoder_map(const ModelConfig& config, const GatedDecoderTensors& tensors) {
  const std::string layer = "model.layers.{l}.";
  MapBuilder map(config);
  map.add(Role::token_embedding, "model.embed_tokens.weight");
  const bool sandwich = config.placement == NormPlacement::sandwich;
  map.add(Role::ln1_weight, layer + "input_layernorm.weight");
  if (sandwich) {
    map.add(Role::ln1_post_weight, layer + "post_attention_layernorm.weight")
        .add(Role::ln2_weight, layer + "pre_feedforward_layernorm.weight")
        .add(Role::ln2_post_weight, layer + "post_feedforward_layernorm.weight");
  } else {
    map.add(Role::ln2_weight, layer + "post_attention_layernorm.weight");
  }

  const std::string attention = layer + "self_attn.";
  map.add(Role::q_weight, attention + "q_proj.weight")
      .add(Role::k_weight, attention + "k_proj.weight")
      .add(Role::v_weight, attention + "v_proj.weight")
      .add(Role::o_weight, attention + "o_proj.weight");
  if (tensors.attention != Biases::none) {
    map.add(Role::q_bias, attention + "q_proj.bias")
        .add(Role::k_bias, attention + "k_proj.bias")
        .add(Role::v_bias, attention + "v_proj.bias");
  }
  if (tensors.attention == Biases::qkv_and_output) map.add(Role::o_bias, attention + "o_proj.bias");
  if (config.layers.front().attention.qk_norm) {
    map.add(Role::q_norm_weight, attention + "q_norm.weight")
        .add(Role::k_norm_weight, attention + "k_norm.weight");
  }
  map.unused("*.rotary_emb.inv_freq", "rotary frequencies, recomputed");

  const std::string mlp = layer + "mlp.";
  map.add(Role::mlp_gate_weight, mlp + "gate_proj.weight")
      .add(Role::mlp_in_weight, mlp + "up_proj.weight")
      .add(Role::mlp_out_weight, mlp + "down_proj.weight");
  if (tensors.mlp == MlpBias::yes) {
    map.add(Role::mlp_gate_bias, mlp + "gate_proj.bias")
        .add(Role::mlp_in_bias, mlp + "up_proj.bias")
        .add(Role::mlp_out_bias, mlp + "down_proj.bias");
  }
  map.add(Role::final_norm_weight, "model.norm.weight");

  if (config.head == HeadKind::language_model) {
    if (config.tied_head) {
      map.twin("lm_head.weight", "model.embed_tokens.weight");
    } else {
      map.add(Role::head_weight, "lm_head.weight");
    }
  } else if (config.head == HeadKind::classifier) {
    map.add(Role::head_weight, "score.weight");
    if (config.classifier == ClassifierKind::every_token) map.add(Role::head_bias, "score.bias");
  }
  map.unused("lm_head.*", "head of another task").unused("score.*", "head of another task");
  return map.take();
}

std::vector<Architecture> decoder_architectures(const DecoderNames& names) {
  return {
      {names.causal_lm, {HeadKind::language_model}, ""},
      {names.sequence_classification,
       {HeadKind::classifier, ClassifierKind::last_token},
       "score.weight"},
      {names.token_classification,
       {HeadKind::classifier, ClassifierKind::every_token},
       "score.weight"},
      {names.base, {HeadKind::none}, ""},
  };
}

}  // namespace attnscope
