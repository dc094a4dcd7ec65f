#include "tiny_model.h"

#include <cmath>
#include <memory>

#include "attnscope/checkpoint/memory_source.h"
#include "attnscope/support/philox.h"
#include "testing/fixtures.h"

namespace attnscope::testing {

ModelConfig tiny_config(const TinyShape& shape) {
  ModelConfig config;
  config.family = "custom";
  config.name = "tiny";
  config.d_vocab = config.d_vocab_out = shape.d_vocab;
  config.d_model = config.d_embed = shape.d_model;
  config.n_layers = config.n_distinct_layers = shape.n_layers;
  config.n_context = shape.n_context;
  config.norm = NormKind::none;
  config.placement = NormPlacement::none;
  config.final_norm = false;
  config.position = shape.rotary ? PositionKind::rotary : PositionKind::none;
  config.mlp = MlpKind::none;
  config.head = HeadKind::none;
  AttentionSpec attention;
  attention.n_heads = shape.n_heads;
  attention.n_kv_heads = shape.n_kv_heads;
  attention.d_head = shape.d_head;
  attention.scale = shape.scale;
  attention.mask = shape.mask;
  attention.window = shape.window;
  attention.rotary = shape.rotary;
  attention.rope.rotary_dims = shape.d_head;
  attention.softcap = shape.softcap;
  attention.learned_sink = shape.learned_sink;
  config.layers.assign(static_cast<std::size_t>(shape.n_layers), {.attention = attention});
  return config;
}

std::vector<double> identity(std::int64_t rows, std::int64_t cols) {
  std::vector<double> values(static_cast<std::size_t>(rows * cols), 0.0);
  for (std::int64_t i = 0; i < std::min(rows, cols); ++i) {
    values[static_cast<std::size_t>(i * cols + i)] = 1;
  }
  return values;
}

std::vector<double> random_values(Role role, int layer, std::int64_t rows, std::int64_t cols) {
  Philox random(static_cast<std::uint64_t>(role) + 1, static_cast<std::uint64_t>(layer + 1));
  std::vector<double> values(static_cast<std::size_t>(rows * cols));
  const double range = 1 / std::sqrt(static_cast<double>(cols));
  for (double& value : values) value = (2 * random.uniform() - 1) * range;
  return values;
}

Checkpoint tiny_checkpoint(const ModelConfig& config, const WeightValues& values) {
  const auto weights = std::make_shared<MemoryTensorSource>();
  const auto add = [&](const std::string& name, Role role, int layer, std::int64_t rows,
                       std::int64_t cols) {
    weights->add(name, {rows, cols}, values(role, layer, rows, cols));
  };
  add("embed", Role::token_embedding, -1, config.d_vocab, config.d_model);
  for (int layer = 0; layer < config.n_layers; ++layer) {
    const AttentionSpec& spec = config.layers[static_cast<std::size_t>(layer)].attention;
    const std::string prefix = std::to_string(layer) + ".";
    const std::int64_t q = spec.n_heads * spec.d_head;
    const std::int64_t kv = spec.n_kv_heads * spec.d_head;
    add(prefix + "q", Role::q_weight, layer, q, config.d_model);
    add(prefix + "k", Role::k_weight, layer, kv, config.d_model);
    add(prefix + "v", Role::v_weight, layer, kv, config.d_model);
    add(prefix + "o", Role::o_weight, layer, config.d_model, q);
    if (spec.learned_sink) {
      weights->add(prefix + "sink", {spec.n_heads}, values(Role::sink, layer, spec.n_heads, 1));
    }
  }
  std::vector<RoleName> names = {{Role::token_embedding, "embed"},
                                 {Role::q_weight, "{l}.q"},
                                 {Role::k_weight, "{l}.k"},
                                 {Role::v_weight, "{l}.v"},
                                 {Role::o_weight, "{l}.o"}};
  if (config.layers[0].attention.learned_sink) names.push_back({Role::sink, "{l}.sink"});
  const TensorMap map = bind_by_name(config, names);
  return {.config = config, .map = map, .tensors = weights};
}

Model tiny_model(const ModelConfig& config, const WeightValues& values, DType dtype) {
  Warnings warnings;
  return Model::load(tiny_checkpoint(config, values), {.dtype = dtype}, warnings);
}

Model fixture_model(const std::string& family, DType dtype) {
  Warnings warnings;
  return Model::load(open_checkpoint(fixture("families/" + family), {}, warnings), {.dtype = dtype},
                     warnings);
}

std::vector<std::string> fixture_families() {
  return {"albert", "bert",    "distilbert", "gemma2", "gpt2",   "gpt_neox",
          "llama",  "mistral", "qwen2",      "qwen3",  "roberta"};
}

TokenRow sample_row(int length, int seed) {
  TokenRow row;
  for (int i = 0; i < length; ++i) row.ids.push_back((37 * i + 11 * seed) % 200 + 5);
  return row;
}

}  // namespace attnscope::testing
