// https://arxiv.org/abs/1907.11692; the keys and defaults are those of RobertaConfig. Positions
// count from the pad id + 1, so the first rows of the table are never read.
#include <string>

#include "post_norm_encoder.h"
#include "registry.h"

namespace attnscope {
namespace {

constexpr const char* kMaskedLmMarker = "lm_head.dense.weight";

ModelConfig configure(const FamilyInput& input) {
  ModelConfig config =
      read_post_norm_encoder(input, {.d_vocab = 50265, .pad_id = 1, .bos_id = 0, .eos_id = 2});
  if (config.pad_id < 0) {
    input.json.fail("pad_token_id", "is needed: positions count from it", "an id of at least 0",
                    "");
  }
  config.position_offset = config.pad_id + 1;
  config.n_context -= config.position_offset;
  if (config.n_context < 1) {
    input.json.fail("max_position_embeddings", "leaves no position after the pad id",
                    "more than " + std::to_string(config.position_offset), "");
  }
  config.head_activation = Activation::gelu;
  return config;
}

void add_masked_lm(const ModelConfig& config, MapBuilder& map) {
  map.add_pair(Role::head_dense_weight, Role::head_dense_bias, "lm_head.dense")
      .add_pair(Role::head_norm_weight, Role::head_norm_bias, "lm_head.layer_norm")
      .add(Role::head_bias, "lm_head.bias")
      .twin("lm_head.decoder.bias", "lm_head.bias");
  if (config.tied_head) {
    map.twin("lm_head.decoder.weight", "roberta.embeddings.word_embeddings.weight");
  } else {
    map.add(Role::head_weight, "lm_head.decoder.weight");
  }
}

TensorMap map(const ModelConfig& config, const FamilyInput&) {
  MapBuilder map(config);
  add_encoder_tensors(map, "roberta.");
  if (config.head == HeadKind::masked_lm) {
    add_masked_lm(config, map);
  } else if (config.head == HeadKind::classifier) {
    if (config.classifier == ClassifierKind::pooled_tanh) {
      map.add_pair(Role::head_dense_weight, Role::head_dense_bias, "classifier.dense")
          .add_pair(Role::head_weight, Role::head_bias, "classifier.out_proj");
    } else {
      map.add_pair(Role::head_weight, Role::head_bias, "classifier");
    }
  }
  add_unused_encoder_tensors(map);
  return map.take();
}

}  // namespace

Family roberta_family() {
  const Head masked_lm{HeadKind::masked_lm};
  return {.name = "roberta",
          .model_types = {"roberta"},
          .architectures =
              {
                  {"RobertaForMaskedLM", masked_lm, kMaskedLmMarker},
                  {"RobertaForCausalLM", masked_lm, kMaskedLmMarker},
                  {"RobertaForSequenceClassification",
                   {HeadKind::classifier, ClassifierKind::pooled_tanh},
                   "classifier.out_proj.weight"},
                  {"RobertaForTokenClassification",
                   {HeadKind::classifier, ClassifierKind::every_token},
                   "classifier.weight"},
                  {"RobertaForQuestionAnswering", {HeadKind::none}, ""},
                  {"RobertaForMultipleChoice", {HeadKind::none}, ""},
                  {"RobertaModel", {HeadKind::none}, ""},
              },
          .base_prefix = "roberta.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
