// https://arxiv.org/abs/2408.00118; the keys and defaults are those of Gemma2Config.
#include <cmath>
#include <string>
#include <vector>

#include "config_keys.h"
#include "gated_decoder.h"
#include "registry.h"

namespace attnscope {
namespace {

constexpr NumberRange kSoftcapRange{1e-3, 1e6};

const GatedDecoderDefaults kDefaults = {.d_vocab = 256000,
                                        .d_model = 2304,
                                        .d_mlp = 9216,
                                        .n_layers = 26,
                                        .n_heads = 8,
                                        .n_kv_heads = 4,
                                        .d_head = 256,
                                        .n_context = 8192,
                                        .activation = "gelu_pytorch_tanh",
                                        .pad_id = 0,
                                        .bos_id = 2,
                                        .eos_id = 1,
                                        .tied_head = true};

ModelConfig configure(const FamilyInput& input) {
  const JsonObject& json = input.json;
  ModelConfig config = read_gated_decoder(input, kDefaults);
  config.placement = NormPlacement::sandwich;
  config.norm_weight_offset = 1;
  config.embed_multiplier = std::sqrt(static_cast<double>(config.d_model));
  config.final_softcap = read_number_or_none(json, "final_logit_softcapping", 30, kSoftcapRange);
  const double softcap = read_number_or_none(json, "attn_logit_softcapping", 50, kSoftcapRange);
  const double query_scalar = read_number(json, "query_pre_attn_scalar", 256, {1e-6, 1e9});
  for (LayerConfig& layer : config.layers) {
    layer.attention.scale = 1 / std::sqrt(query_scalar);
    layer.attention.softcap = softcap;
  }
  refuse_true(json, "use_bidirectional_attention");

  std::vector<std::string> types;
  for (int l = 0; l < config.n_layers; ++l) {
    types.emplace_back(l % 2 == 0 ? "sliding_attention" : "full_attention");
  }
  const int window = read_size_or_null(json, "sliding_window", 4096, 0, kContextRange);
  apply_layer_types(config, input, kDefaults, read_layer_types(input, config.n_layers, types),
                    window);
  return config;
}

TensorMap map(const ModelConfig& config, const FamilyInput& input) {
  const bool bias = read_flag(input.json, "attention_bias", false);
  return gated_decoder_map(config, {.attention = bias ? Biases::qkv_and_output : Biases::none});
}

}  // namespace

Family gemma2_family() {
  return {.name = "gemma2",
          .model_types = {"gemma2"},
          .architectures = decoder_architectures({"Gemma2ForCausalLM", "Gemma2Model",
                                                  "Gemma2ForSequenceClassification",
                                                  "Gemma2ForTokenClassification"}),
          .base_prefix = "model.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
