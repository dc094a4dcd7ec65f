// https://arxiv.org/abs/2310.06825; the keys and defaults are those of MistralConfig.
#include <string>
#include <vector>

#include "config_keys.h"
#include "gated_decoder.h"
#include "registry.h"

namespace attnscope {
namespace {

const GatedDecoderDefaults kDefaults = {.d_vocab = 32000,
                                        .d_model = 4096,
                                        .d_mlp = 14336,
                                        .n_layers = 32,
                                        .n_heads = 32,
                                        .n_kv_heads = 8,
                                        .n_context = 4096 * 32,
                                        .bos_id = 1,
                                        .eos_id = 2};

// Every layer slides unless sliding_window is null.
ModelConfig configure(const FamilyInput& input) {
  ModelConfig config = read_gated_decoder(input, kDefaults);
  const int window = read_size_or_null(input.json, "sliding_window", 4096, 0, kContextRange);
  const std::vector<std::string> types(config.layers.size(),
                                       window > 0 ? "sliding_attention" : "full_attention");
  if (input.json.has("layer_types")) {
    input.warnings.add(input.json.where() + ": layer_types is ignored, as by the original class");
  }
  apply_layer_types(config, input, kDefaults, types, window);
  return config;
}

TensorMap map(const ModelConfig& config, const FamilyInput&) {
  return gated_decoder_map(config, {});
}

}  // namespace

Family mistral_family() {
  return {.name = "mistral",
          .model_types = {"mistral"},
          .architectures = decoder_architectures({"MistralForCausalLM", "MistralModel",
                                                  "MistralForSequenceClassification",
                                                  "MistralForTokenClassification"}),
          .base_prefix = "model.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
