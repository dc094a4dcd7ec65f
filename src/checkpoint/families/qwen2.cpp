// https://arxiv.org/abs/2407.10671; the keys and defaults are those of Qwen2Config.
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
                                        .n_context = 32768};

ModelConfig configure(const FamilyInput& input) {
  ModelConfig config = read_gated_decoder(input, kDefaults);
  apply_optional_window(config, input, kDefaults);
  return config;
}

TensorMap map(const ModelConfig& config, const FamilyInput&) {
  return gated_decoder_map(config, {.attention = Biases::qkv});
}

}  // namespace

Family qwen2_family() {
  return {.name = "qwen2",
          .model_types = {"qwen2"},
          .architectures = decoder_architectures({"Qwen2ForCausalLM", "Qwen2Model",
                                                  "Qwen2ForSequenceClassification",
                                                  "Qwen2ForTokenClassification"}),
          .base_prefix = "model.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
