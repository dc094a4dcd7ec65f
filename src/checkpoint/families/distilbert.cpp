// https://arxiv.org/abs/1910.01108; the keys and defaults are those of DistilBertConfig.
#include <cmath>
#include <string>

#include "config_keys.h"
#include "heads.h"
#include "map_builder.h"
#include "registry.h"

namespace attnscope {
namespace {

// Fixed in the original class, not in its configuration.
constexpr double kNormEpsilon = 1e-12;

ModelConfig configure(const FamilyInput& input) {
  const JsonObject& json = input.json;
  ModelConfig config;
  config.stack = StackKind::encoder_only;
  config.d_vocab = read_size(json, {"vocab_size"}, 30522, kVocabRange);
  config.d_model = read_size(json, {"dim", "hidden_size"}, 768, kWidthRange);
  config.d_embed = config.d_model;
  config.n_layers = read_size(json, {"n_layers", "num_hidden_layers"}, 6, kLayerRange);
  config.n_distinct_layers = config.n_layers;
  config.n_context = read_size(json, {"max_position_embeddings"}, 512, kContextRange);

  AttentionSpec spec;
  spec.n_heads = read_size(json, {"n_heads", "num_attention_heads"}, 12, kHeadRange);
  spec.n_kv_heads = spec.n_heads;
  require_divides(json, "n_heads", spec.n_heads, "dim", config.d_model);
  spec.d_head = config.d_model / spec.n_heads;
  spec.scale = 1 / std::sqrt(static_cast<double>(spec.d_head));
  spec.mask = MaskKind::bidirectional;
  const int d_mlp = read_size(json, {"hidden_dim"}, 3072, kWidthRange);
  config.layers.assign(static_cast<std::size_t>(config.n_layers),
                       {.attention = spec, .d_mlp = d_mlp});

  config.norm_eps = kNormEpsilon;
  config.placement = NormPlacement::post;
  config.embed_norm = true;
  config.final_norm = false;
  config.activation = read_activation(json, {"activation"}, "gelu");
  config.head_activation = config.activation;
  config.tied_head = read_flag(json, "tie_word_embeddings", true);
  config.pad_id = read_token_id(json, "pad_token_id", 0);
  config.bos_id = read_token_id(json, "bos_token_id", -1);
  config.eos_id = read_token_id(json, "eos_token_id", -1);
  apply_head(config, input);
  return config;
}

void add_head(const ModelConfig& config, MapBuilder& map) {
  if (config.head == HeadKind::masked_lm) {
    map.add_pair(Role::head_dense_weight, Role::head_dense_bias, "vocab_transform")
        .add_pair(Role::head_norm_weight, Role::head_norm_bias, "vocab_layer_norm")
        .add(Role::head_bias, "vocab_projector.bias");
    if (config.tied_head) {
      map.twin("vocab_projector.weight", "distilbert.embeddings.word_embeddings.weight");
    } else {
      map.add(Role::head_weight, "vocab_projector.weight");
    }
  } else if (config.head == HeadKind::classifier) {
    if (config.classifier == ClassifierKind::pooled_relu) {
      map.add_pair(Role::head_dense_weight, Role::head_dense_bias, "pre_classifier");
    }
    map.add_pair(Role::head_weight, Role::head_bias, "classifier");
  }
}

TensorMap map(const ModelConfig& config, const FamilyInput&) {
  const std::string base = "distilbert.";
  const std::string layer = base + "transformer.layer.{l}.";
  MapBuilder map(config);
  map.add(Role::token_embedding, base + "embeddings.word_embeddings.weight")
      .add(Role::position_embedding, base + "embeddings.position_embeddings.weight")
      .add_pair(Role::embed_norm_weight, Role::embed_norm_bias, base + "embeddings.LayerNorm")
      .add_pair(Role::q_weight, Role::q_bias, layer + "attention.q_lin")
      .add_pair(Role::k_weight, Role::k_bias, layer + "attention.k_lin")
      .add_pair(Role::v_weight, Role::v_bias, layer + "attention.v_lin")
      .add_pair(Role::o_weight, Role::o_bias, layer + "attention.out_lin")
      .add_pair(Role::ln1_weight, Role::ln1_bias, layer + "sa_layer_norm")
      .add_pair(Role::mlp_in_weight, Role::mlp_in_bias, layer + "ffn.lin1")
      .add_pair(Role::mlp_out_weight, Role::mlp_out_bias, layer + "ffn.lin2")
      .add_pair(Role::ln2_weight, Role::ln2_bias, layer + "output_layer_norm")
      .unused("*embeddings.position_ids", "position buffer");
  add_head(config, map);
  for (const char* head : {"vocab_*", "pre_classifier.*", "classifier.*", "qa_outputs.*"}) {
    map.unused(head, "head of another task");
  }
  return map.take();
}

}  // namespace

Family distilbert_family() {
  return {.name = "distilbert",
          .model_types = {"distilbert"},
          .architectures =
              {
                  {"DistilBertForMaskedLM", {HeadKind::masked_lm}, "vocab_transform.weight"},
                  {"DistilBertForSequenceClassification",
                   {HeadKind::classifier, ClassifierKind::pooled_relu},
                   "pre_classifier.weight"},
                  {"DistilBertForTokenClassification",
                   {HeadKind::classifier, ClassifierKind::every_token},
                   "classifier.weight"},
                  {"DistilBertForQuestionAnswering", {HeadKind::none}, ""},
                  {"DistilBertForMultipleChoice", {HeadKind::none}, ""},
                  {"DistilBertModel", {HeadKind::none}, ""},
              },
          .base_prefix = "distilbert.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
