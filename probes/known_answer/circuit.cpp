#include "circuit.h"

#include <memory>

#include "attnscope/checkpoint/memory_source.h"

namespace attnscope {
namespace {

ModelConfig make_config(const Circuit& circuit) {
  ModelConfig config;
  config.family = "known_answer";
  config.architecture = "known_answer";
  config.name = circuit.name;
  config.stack = StackKind::decoder_only;
  config.d_vocab = config.d_vocab_out = circuit.tokens.rows;
  config.d_model = config.d_embed = circuit.tokens.cols;
  config.n_layers = config.n_distinct_layers = static_cast<int>(circuit.layers.size());
  config.n_context = circuit.n_context;
  config.norm = NormKind::none;
  config.placement = NormPlacement::none;
  config.final_norm = false;
  config.position = circuit.positions.rows > 0 ? PositionKind::learned : PositionKind::none;
  config.mlp = circuit.mlp ? MlpKind::plain : MlpKind::none;
  config.activation = Activation::relu;
  config.head = HeadKind::language_model;
  config.tied_head = false;
  config.bos_id = 0;
  config.stored_dtype = DType::f64;
  for (const HeadList& heads : circuit.layers) {
    LayerConfig layer;
    layer.attention.n_heads = layer.attention.n_kv_heads = static_cast<int>(heads.size());
    layer.attention.d_head = heads.front().q.rows;
    layer.attention.scale = 1;
    layer.attention.mask = MaskKind::causal;
    if (circuit.mlp) layer.d_mlp = circuit.mlp->in.rows;
    config.layers.push_back(layer);
  }
  return config;
}

// [h·d m] from the heads' [d m].
Matrix stack_rows(const HeadList& heads, Matrix HeadWeights::*part) {
  Matrix stacked(0, (heads.front().*part).cols);
  for (const HeadWeights& head : heads) {
    const Matrix& matrix = head.*part;
    stacked.values.insert(stacked.values.end(), matrix.values.begin(), matrix.values.end());
    stacked.rows += matrix.rows;
  }
  return stacked;
}

// [m h·d] from the heads' [m d].
Matrix stack_columns(const HeadList& heads) {
  const Matrix& first = heads.front().o;
  Matrix stacked(first.rows, first.cols * static_cast<int>(heads.size()));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    Matrix o = heads[h].o;
    for (int row = 0; row < o.rows; ++row) {
      for (int col = 0; col < o.cols; ++col) {
        stacked.at(row, static_cast<int>(h) * o.cols + col) = o.at(row, col);
      }
    }
  }
  return stacked;
}

// Collects the weights and the names of their roles.
class Binder {
 public:
  void add(Role role, const std::string& name, const Matrix& matrix) {
    weights_->add(name, {matrix.rows, matrix.cols}, matrix.values);
    roles_.push_back({role, name});
  }
  // One matrix or vector a layer; `name` is what follows "blocks.{l}.".
  void add_layer(Role role, int layer, const std::string& name, const Matrix& matrix) {
    weights_->add(in_layer(layer, name), {matrix.rows, matrix.cols}, matrix.values);
    bind_once(role, layer, name);
  }
  void add_layer(Role role, int layer, const std::string& name, const std::vector<double>& vector) {
    weights_->add(in_layer(layer, name), {static_cast<std::int64_t>(vector.size())}, vector);
    bind_once(role, layer, name);
  }

  Checkpoint finish(const ModelConfig& config) {
    Checkpoint checkpoint;
    checkpoint.config = config;
    checkpoint.map = bind_by_name(config, roles_);
    checkpoint.tensors = std::move(weights_);
    return checkpoint;
  }

 private:
  static std::string in_layer(int layer, const std::string& name) {
    return "blocks." + std::to_string(layer) + "." + name;
  }
  // A role is bound for all layers at once.
  void bind_once(Role role, int layer, const std::string& name) {
    if (layer == 0) roles_.push_back({role, "blocks.{l}." + name});
  }

  std::shared_ptr<MemoryTensorSource> weights_ = std::make_shared<MemoryTensorSource>();
  std::vector<RoleName> roles_;
};

}  // namespace

Checkpoint make_checkpoint(const Circuit& circuit) {
  Binder binder;
  binder.add(Role::token_embedding, "W_E", circuit.tokens);
  if (circuit.positions.rows > 0) {
    binder.add(Role::position_embedding, "W_pos", circuit.positions);
  }
  binder.add(Role::head_weight, "W_U", circuit.unembed);
  for (std::size_t l = 0; l < circuit.layers.size(); ++l) {
    const HeadList& heads = circuit.layers[l];
    const auto layer = static_cast<int>(l);
    binder.add_layer(Role::q_weight, layer, "W_Q", stack_rows(heads, &HeadWeights::q));
    binder.add_layer(Role::k_weight, layer, "W_K", stack_rows(heads, &HeadWeights::k));
    binder.add_layer(Role::v_weight, layer, "W_V", stack_rows(heads, &HeadWeights::v));
    binder.add_layer(Role::o_weight, layer, "W_O", stack_columns(heads));
    if (!circuit.mlp) continue;
    binder.add_layer(Role::mlp_in_weight, layer, "W_in", circuit.mlp->in);
    binder.add_layer(Role::mlp_in_bias, layer, "b_in", circuit.mlp->in_bias);
    binder.add_layer(Role::mlp_out_weight, layer, "W_out", circuit.mlp->out);
    binder.add_layer(Role::mlp_out_bias, layer, "b_out", circuit.mlp->out_bias);
  }
  return binder.finish(make_config(circuit));
}

}  // namespace attnscope
