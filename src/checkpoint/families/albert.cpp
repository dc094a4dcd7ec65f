// https://arxiv.org/abs/1909.11942; the keys and defaults are those of AlbertConfig. Layers share
// weights: every pass runs the inner layers of its group.
#include <string>

#include "post_norm_encoder.h"
#include "registry.h"

namespace attnscope {
namespace {

constexpr const char* kMaskedLmMarker = "predictions.dense.weight";

struct Sharing {
  int groups = 1;
  int inner = 1;   // layers of one group
  int passes = 1;  // num_hidden_layers
};

Sharing read_sharing(const JsonObject& json) {
  return {.groups = read_size(json, {"num_hidden_groups"}, 1, kLayerRange),
          .inner = read_size(json, {"inner_group_num"}, 1, kLayerRange),
          .passes = read_size(json, {"num_hidden_layers"}, 12, kLayerRange)};
}

ModelConfig configure(const FamilyInput& input) {
  const JsonObject& json = input.json;
  ModelConfig config = read_post_norm_encoder(input, {.d_vocab = 30000,
                                                      .d_model = 4096,
                                                      .d_mlp = 16384,
                                                      .n_layers = 12,
                                                      .n_heads = 64,
                                                      .activation = "gelu_new",
                                                      .bos_id = 2,
                                                      .eos_id = 3});
  config.d_embed = read_size(json, {"embedding_size"}, 128, kWidthRange);
  const Sharing sharing = read_sharing(json);
  if (sharing.groups > sharing.passes) {
    json.fail("num_hidden_groups", "is more than num_hidden_layers",
              "1 to " + std::to_string(sharing.passes), std::to_string(sharing.groups));
  }
  const std::int64_t layers = std::int64_t{sharing.passes} * sharing.inner;
  if (layers > kLayerRange.high) {
    json.fail("inner_group_num", "times num_hidden_layers is out of range",
              "at most " + std::to_string(kLayerRange.high) + " layers", std::to_string(layers));
  }
  config.n_layers = static_cast<int>(layers);
  const LayerConfig layer = config.layers.front();
  config.layers.assign(static_cast<std::size_t>(layers), layer);
  config.n_distinct_layers = sharing.groups == 1 ? sharing.inner : config.n_layers;
  return config;
}

// Name of the weights of one layer. Pass i runs group ⌊i·groups/passes⌋.
std::string layer_prefix(const Sharing& sharing, int layer) {
  const int pass = layer / sharing.inner;
  const int group =
      static_cast<int>(static_cast<std::int64_t>(pass) * sharing.groups / sharing.passes);
  return "albert.encoder.albert_layer_groups." + std::to_string(group) + ".albert_layers." +
         std::to_string(layer % sharing.inner) + ".";
}

void add_layers(const ModelConfig& config, const Sharing& sharing, MapBuilder& map) {
  for (int l = 0; l < config.n_distinct_layers; ++l) {
    const std::string layer = layer_prefix(sharing, l);
    const auto pair = [&](Role weight, Role bias, const std::string& stem) {
      map.add_at(l, weight, layer + stem + ".weight").add_at(l, bias, layer + stem + ".bias");
    };
    pair(Role::q_weight, Role::q_bias, "attention.query");
    pair(Role::k_weight, Role::k_bias, "attention.key");
    pair(Role::v_weight, Role::v_bias, "attention.value");
    pair(Role::o_weight, Role::o_bias, "attention.dense");
    pair(Role::ln1_weight, Role::ln1_bias, "attention.LayerNorm");
    pair(Role::mlp_in_weight, Role::mlp_in_bias, "ffn");
    pair(Role::mlp_out_weight, Role::mlp_out_bias, "ffn_output");
    pair(Role::ln2_weight, Role::ln2_bias, "full_layer_layer_norm");
  }
}

void add_head(const ModelConfig& config, MapBuilder& map) {
  if (config.head == HeadKind::masked_lm) {
    map.add_pair(Role::head_dense_weight, Role::head_dense_bias, "predictions.dense")
        .add_pair(Role::head_norm_weight, Role::head_norm_bias, "predictions.LayerNorm")
        .add(Role::head_bias, "predictions.bias")
        .twin("predictions.decoder.bias", "predictions.bias");
    if (config.tied_head) {
      map.twin("predictions.decoder.weight", "albert.embeddings.word_embeddings.weight");
    } else {
      map.add(Role::head_weight, "predictions.decoder.weight");
    }
  } else if (config.head == HeadKind::classifier) {
    if (config.classifier == ClassifierKind::pooled_tanh) {
      map.add_pair(Role::head_dense_weight, Role::head_dense_bias, "albert.pooler");
    }
    map.add_pair(Role::head_weight, Role::head_bias, "classifier");
  }
}

TensorMap map(const ModelConfig& config, const FamilyInput& input) {
  const std::string embeddings = "albert.embeddings.";
  MapBuilder map(config);
  map.add(Role::token_embedding, embeddings + "word_embeddings.weight")
      .add(Role::position_embedding, embeddings + "position_embeddings.weight")
      .add(Role::token_type_embedding, embeddings + "token_type_embeddings.weight")
      .add_pair(Role::embed_norm_weight, Role::embed_norm_bias, embeddings + "LayerNorm")
      .add_pair(Role::embed_projection, Role::embed_projection_bias,
                "albert.encoder.embedding_hidden_mapping_in");
  add_layers(config, read_sharing(input.json), map);
  add_head(config, map);
  add_unused_encoder_tensors(map);
  map.unused("predictions.*", "head of another task")
      .unused("sop_classifier.*", "head of another task");
  return map.take();
}

}  // namespace

Family albert_family() {
  const Head masked_lm{HeadKind::masked_lm};
  return {.name = "albert",
          .model_types = {"albert"},
          .architectures =
              {
                  {"AlbertForMaskedLM", masked_lm, kMaskedLmMarker},
                  {"AlbertForPreTraining", masked_lm, kMaskedLmMarker},
                  {"AlbertForSequenceClassification",
                   {HeadKind::classifier, ClassifierKind::pooled_tanh},
                   "classifier.weight"},
                  {"AlbertForTokenClassification",
                   {HeadKind::classifier, ClassifierKind::every_token},
                   "classifier.weight"},
                  {"AlbertForQuestionAnswering", {HeadKind::none}, ""},
                  {"AlbertForMultipleChoice", {HeadKind::none}, ""},
                  {"AlbertModel", {HeadKind::none}, ""},
              },
          .base_prefix = "albert.",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
