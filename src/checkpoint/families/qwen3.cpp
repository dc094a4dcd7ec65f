// https://arxiv.org/abs/2505.09388; the keys and defaults are those of Qwen3Config.
#include "config_keys.h"
#include "gated_decoder.h"
#include "registry.h"

namespace attnscope {
namespace {

const GatedDecoderDefaults kDefaults = {.d_vocab = 151936,
                                        .d_model = 4096,
                                        .d_mlp = 22016,
                                        .n_layers = 32,
                                        .n_heads = 32,
                                        .n_kv_heads = 32,
                                        .d_head = 128,
                                        .n_context = 32768};

ModelConfig configure(const FamilyInput& input) {
  ModelConfig config = read_gated_decoder(input, kDefaults);
  apply_optional_window(config, input, kDefaults);
  for (LayerConfig& layer : config.layers) layer.attention.qk_norm = true;
  return config;
}

TensorMap map(const ModelConfig& config, const FamilyInput& input) {
  const bool bias = read_flag(input.json, "attention_bias", false);
  return gated_decoder_map(config, {.attention = bias ? Biases::qkv_and_output : Biases::none});
}

}  // namespace

Family qwen3_family() {
  return {.name = "qwen3",
          .model_types = {"qwen3"},
          .architectures = decoder_architectures({"Qwen3ForCausalLM", "Qwen3Model",
                                                  "Qwen3ForSequenceClassification",
                                                  "Qwen3ForTokenClassification"}),
          .base_prefix = "model.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
