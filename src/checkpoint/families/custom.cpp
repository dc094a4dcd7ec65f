// Small research transformers whose FILE.json states the architecture and names the tensors:
//   {"family": "custom", "weights": "model.safetensors", "config": {…}, "map": …}
// README.md of this module lists the keys.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "config_keys.h"
#include "custom_map.h"
#include "registry.h"

namespace attnscope {
namespace {

const std::set<std::string> kFileKeys = {"family", "name", "weights", "config", "map", "unused"};
const std::set<std::string> kConfigKeys = {"n_layers",
                                           "n_heads",
                                           "n_kv_heads",
                                           "d_model",
                                           "d_head",
                                           "d_mlp",
                                           "d_vocab",
                                           "d_vocab_out",
                                           "n_context",
                                           "norm",
                                           "norm_kind",
                                           "eps",
                                           "final_norm",
                                           "embed_norm",
                                           "parallel_block",
                                           "activation",
                                           "mlp",
                                           "mask",
                                           "window",
                                           "pad_id",
                                           "bos_id",
                                           "eos_id",
                                           "softmax_mix",
                                           "scale",
                                           "softcap",
                                           "positions",
                                           "rotary",
                                           "head",
                                           "classifier",
                                           "labels",
                                           "tied_head",
                                           "final_softcap",
                                           "embed_multiplier",
                                           "residual_multiplier",
                                           "logit_multiplier"};

constexpr IntegerRange kOptionalWidth{0, kWidthRange.high};

// The value of `key` that stands for one of `names`; `names` and `values` are parallel.
template <typename T>
struct Choice {
  const char* name;
  T value;
};
template <typename T, std::size_t N>
T read_choice(const JsonObject& json, std::string_view key, const Choice<T> (&choices)[N],
              std::string_view fallback) {
  const std::string name = json.string_or(key, fallback);
  std::vector<std::string> names;
  for (const Choice<T>& choice : choices) {
    if (name == choice.name) return choice.value;
    names.emplace_back(choice.name);
  }
  not_supported(json, key, quote(name, 60), names);
}

constexpr Choice<NormPlacement> kPlacements[] = {
    {"none", NormPlacement::none}, {"pre", NormPlacement::pre}, {"post", NormPlacement::post}};
constexpr Choice<NormKind> kNormKinds[] = {{"layer_norm", NormKind::layer_norm},
                                           {"rms_norm", NormKind::rms_norm}};
constexpr Choice<MlpKind> kMlpKinds[] = {{"plain", MlpKind::plain}, {"gated", MlpKind::gated}};
constexpr Choice<MaskKind> kMasks[] = {{"causal", MaskKind::causal},
                                       {"bidirectional", MaskKind::bidirectional}};
constexpr Choice<PositionKind> kPositions[] = {{"learned", PositionKind::learned},
                                               {"none", PositionKind::none},
                                               {"rotary", PositionKind::rotary}};
constexpr Choice<RopeLayout> kRopeLayouts[] = {{"half", RopeLayout::half},
                                               {"interleaved", RopeLayout::interleaved}};
constexpr Choice<HeadKind> kHeads[] = {{"language_model", HeadKind::language_model},
                                       {"classifier", HeadKind::classifier},
                                       {"none", HeadKind::none}};
constexpr Choice<ClassifierKind> kClassifiers[] = {{"first_token", ClassifierKind::first_token},
                                                   {"last_token", ClassifierKind::last_token},
                                                   {"every_token", ClassifierKind::every_token}};

// One number for every layer, or a list with one a layer.
std::vector<int> read_per_layer(const JsonObject& json, std::string_view key,
                                const std::vector<int>& fallback, IntegerRange range) {
  const nlohmann::json* value = json.find(key);
  if (value == nullptr) return fallback;
  if (!value->is_array()) {
    return std::vector<int>(fallback.size(), static_cast<int>(json.integer(key, range)));
  }
  const std::vector<std::int64_t> list = json.integers_or_empty(key, range);
  if (list.size() != fallback.size()) {
    json.fail(key, "", count_of(fallback.size(), "entry") + ", one a layer",
              std::to_string(list.size()));
  }
  return {list.begin(), list.end()};
}

RopeSpec read_rotary(const JsonObject& json, int d_head) {
  RopeSpec rope;
  rope.rotary_dims = d_head;
  if (!json.has("rotary")) return rope;
  const JsonObject rotary = json.object("rotary");
  rotary.forbid_unknown_keys({"dims", "theta", "layout"});
  rope.rotary_dims = read_size(rotary, {"dims"}, d_head, {2, d_head});
  rope.theta = rotary.number_or("theta", 10000, {1, 1e15});
  rope.layout = read_choice(rotary, "layout", kRopeLayouts, "half");
  return rope;
}

void read_layers(const JsonObject& json, ModelConfig& config) {
  const std::vector<int> unset(static_cast<std::size_t>(config.n_layers), 0);
  json.require("n_heads");
  json.require("d_mlp");
  const std::vector<int> heads = read_per_layer(json, "n_heads", unset, kHeadRange);
  const std::vector<int> kv_heads = read_per_layer(json, "n_kv_heads", heads, kHeadRange);
  const std::vector<int> head_sizes = read_per_layer(json, "d_head", unset, {1, 8192});
  const std::vector<int> mlp_sizes = read_per_layer(json, "d_mlp", unset, kOptionalWidth);
  const std::vector<int> windows = read_per_layer(json, "window", unset, {0, kContextRange.high});

  for (std::size_t l = 0; l < heads.size(); ++l) {
    AttentionSpec spec;
    spec.n_heads = heads[l];
    spec.n_kv_heads = kv_heads[l];
    require_divides(json, "n_kv_heads", spec.n_kv_heads, "n_heads", spec.n_heads);
    spec.d_head = head_sizes[l];
    if (spec.d_head == 0) {
      require_divides(json, "n_heads", spec.n_heads, "d_model", config.d_model);
      spec.d_head = config.d_model / spec.n_heads;
    }
    spec.scale =
        json.number_or("scale", 1 / std::sqrt(static_cast<double>(spec.d_head)), {1e-9, 1e9});
    spec.mask = read_choice(json, "mask", kMasks, "causal");
    spec.window = windows[l];
    spec.softcap = json.number_or("softcap", 0, {0, 1e9});
    spec.softmax_mix = json.number_or("softmax_mix", 1, {-1e6, 1e6});
    spec.rotary = config.position == PositionKind::rotary;
    if (spec.rotary) {
      spec.rope = read_rotary(json, spec.d_head);
      if (spec.rope.rotary_dims % 2 != 0) {
        json.fail("rotary", "rotates an odd number of dims", "an even number",
                  std::to_string(spec.rope.rotary_dims));
      }
    }
    config.layers.push_back({.attention = spec, .d_mlp = mlp_sizes[l]});
  }
}

void read_norms(const JsonObject& json, ModelConfig& config) {
  config.placement = read_choice(json, "norm", kPlacements, "none");
  const bool none = config.placement == NormPlacement::none;
  config.norm = none ? NormKind::none : read_choice(json, "norm_kind", kNormKinds, "layer_norm");
  config.norm_eps = read_epsilon(json, "eps", 1e-5);
  config.final_norm = json.boolean_or("final_norm", config.placement == NormPlacement::pre);
  config.embed_norm = json.boolean_or("embed_norm", false);
  if (none && (config.final_norm || config.embed_norm)) {
    json.fail(config.final_norm ? "final_norm" : "embed_norm", "needs a norm", "norm pre or post",
              "none");
  }
}

void read_head(const JsonObject& json, ModelConfig& config) {
  config.head = read_choice(json, "head", kHeads, "language_model");
  config.labels = json.strings_or_empty("labels");
  config.tied_head = json.boolean_or("tied_head", false);
  const int labels = static_cast<int>(config.labels.size());
  const int fallback = labels > 0 ? labels : config.d_vocab;
  config.d_vocab_out = read_size(json, {"d_vocab_out"}, fallback, kVocabRange);
  if (labels > 0 && labels != config.d_vocab_out) {
    json.fail("labels", "", count_of(config.d_vocab_out, "entry") + ", one an output",
              std::to_string(labels));
  }
  if (config.head == HeadKind::classifier) {
    config.classifier = read_choice(json, "classifier", kClassifiers, "first_token");
    for (int i = labels; i < config.d_vocab_out; ++i) {
      config.labels.push_back("LABEL_" + std::to_string(i));
    }
  }
  if (config.head == HeadKind::none) config.d_vocab_out = 0;
}

ModelConfig configure(const FamilyInput& input) {
  input.json.forbid_unknown_keys(kFileKeys);
  const JsonObject json = input.json.object("config");
  json.forbid_unknown_keys(kConfigKeys);

  ModelConfig config;
  config.n_layers = static_cast<int>(json.integer("n_layers", kLayerRange));
  config.n_distinct_layers = config.n_layers;
  config.d_model = static_cast<int>(json.integer("d_model", kWidthRange));
  config.d_embed = config.d_model;
  config.d_vocab = static_cast<int>(json.integer("d_vocab", kVocabRange));
  config.n_context = static_cast<int>(json.integer("n_context", kContextRange));
  config.position = read_choice(json, "positions", kPositions, "learned");
  read_layers(json, config);
  read_norms(json, config);
  read_head(json, config);

  const bool causal = config.layers.front().attention.mask == MaskKind::causal;
  config.stack = causal ? StackKind::decoder_only : StackKind::encoder_only;
  config.mlp = has_mlp(config) ? read_choice(json, "mlp", kMlpKinds, "plain") : MlpKind::none;
  config.activation = read_activation(json, {"activation"}, "relu");
  config.parallel_block = json.boolean_or("parallel_block", false);
  config.final_softcap = json.number_or("final_softcap", 0, {0, 1e9});
  config.embed_multiplier = json.number_or("embed_multiplier", 1);
  config.residual_multiplier = json.number_or("residual_multiplier", 1);
  config.logit_multiplier = json.number_or("logit_multiplier", 1);
  config.pad_id = read_token_id(json, "pad_id", -1);
  config.mask_pad_keys = config.pad_id >= 0;
  config.bos_id = read_token_id(json, "bos_id", -1);
  config.eos_id = read_token_id(json, "eos_id", -1);
  return config;
}

TensorMap map(const ModelConfig& config, const FamilyInput& input) {
  return custom_map(config, input.json);
}

}  // namespace

Family custom_family() {
  return {.name = "custom",
          .form = FamilyForm::single_file,
          .model_types = {},
          .architectures = {},
          .base_prefix = "",
          .configure = configure,
          .map = map};
}

}  // namespace attnscope
