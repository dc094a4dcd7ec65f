// https://arxiv.org/abs/1810.04805; the keys and defaults are those of BertConfig.
#include <string>

#include "post_norm_encoder.h"
#include "registry.h"

namespace attnscope {
namespace {

constexpr const char* kMaskedLmMarker = "cls.predictions.transform.dense.weight";

ModelConfig configure(const FamilyInput& input) {
  return read_post_norm_encoder(input, {});
}

void add_masked_lm(const ModelConfig& config, MapBuilder& map) {
  const std::string head = "cls.predictions.";
  map.add_pair(Role::head_dense_weight, Role::head_dense_bias, head + "transform.dense")
      .add_pair(Role::head_norm_weight, Role::head_norm_bias, head + "transform.LayerNorm")
      .add(Role::head_bias, head + "bias")
      .twin(head + "decoder.bias", head + "bias");
  if (config.tied_head) {
    map.twin(head + "decoder.weight", "bert.embeddings.word_embeddings.weight");
  } else {
    map.add(Role::head_weight, head + "decoder.weight");
  }
}

TensorMap map(const ModelConfig& config, const FamilyInput&) {
  MapBuilder map(config);
  add_encoder_tensors(map, "bert.");
  if (config.head == HeadKind::masked_lm) {
    add_masked_lm(config, map);
  } else if (config.head == HeadKind::classifier) {
    if (config.classifier == ClassifierKind::pooled_tanh) {
      map.add_pair(Role::head_dense_weight, Role::head_dense_bias, "bert.pooler.dense");
    }
    map.add_pair(Role::head_weight, Role::head_bias, "classifier");
  }
  add_unused_encoder_tensors(map);
  return map.take();
}

}  // namespace

Family bert_family() {
  const Head masked_lm{HeadKind::masked_lm};
  return {.name = "bert",
          .model_types = {"bert"},
          .architectures =
              {
                  {"BertForMaskedLM", masked_lm, kMaskedLmMarker},
                  {"BertForPreTraining", masked_lm, kMaskedLmMarker},
                  {"BertLMHeadModel", masked_lm, kMaskedLmMarker},
                  {"BertForSequenceClassification",
                   {HeadKind::classifier, ClassifierKind::pooled_tanh},
                   "classifier.weight"},
                  {"BertForTokenClassification",
                   {HeadKind::classifier, ClassifierKind::every_token},
                   "classifier.weight"},
                  {"BertForQuestionAnswering", {HeadKind::none}, ""},
                  {"BertForNextSentencePrediction", {HeadKind::none}, ""},
                  {"BertForMultipleChoice", {HeadKind::none}, ""},
                  {"BertModel", {HeadKind::none}, ""},
              },
          .base_prefix = "bert.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
