// https://arxiv.org/abs/2302.13971; the keys and defaults are those of LlamaConfig.
#include "config_keys.h"
#include "gated_decoder.h"
#include "registry.h"

namespace attnscope {
namespace {

const GatedDecoderDefaults kDefaults = {.d_vocab = 32000,
                                        .d_model = 4096,
                                        .d_mlp = 11008,
                                        .n_layers = 32,
                                        .n_heads = 32,
                                        .n_context = 2048,
                                        .bos_id = 1,
                                        .eos_id = 2};

ModelConfig configure(const FamilyInput& input) {
  return read_gated_decoder(input, kDefaults);
}

TensorMap map(const ModelConfig& config, const FamilyInput& input) {
  const bool attention_bias = read_flag(input.json, "attention_bias", false);
  const bool mlp_bias = read_flag(input.json, "mlp_bias", false);
  return gated_decoder_map(config,
                           {.attention = attention_bias ? Biases::qkv_and_output : Biases::none,
                            .mlp = mlp_bias ? MlpBias::yes : MlpBias::no});
}

}  // namespace

Family llama_family() {
  return {.name = "llama",
          .model_types = {"llama"},
          .architectures = decoder_architectures({"LlamaForCausalLM", "LlamaModel",
                                                  "LlamaForSequenceClassification",
                                                  "LlamaForTokenClassification"}),
          .base_prefix = "model.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
