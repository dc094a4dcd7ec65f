#include "attnscope/probes/known_answer.h"

#include <memory>
#include <string>

#include "attnscope/checkpoint/memory_source.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

constexpr int kBos = 0;
constexpr int kDistinct = 10;  // tokens of the prompt before they repeat

// A dense matrix by rows.
struct Matrix {
  int rows = 0;
  int cols = 0;
  std::vector<double> values;

  Matrix(int n_rows, int n_cols)
      : rows(n_rows), cols(n_cols), values(static_cast<std::size_t>(n_rows * n_cols), 0.0) {}
  double& at(int row, int col) { return values[static_cast<std::size_t>(row * cols + col)]; }
};

// Where the facts lie in the residual stream.
class Coordinates {
 public:
  explicit Coordinates(const KnownAnswerSizes& sizes) : v_(sizes.n_tokens), n_(sizes.n_positions) {}
  int token(int t) const { return t; }
  int position(int p) const { return v_ + p; }
  int previous(int t) const { return v_ + n_ + t; }
  int logit(int t) const { return 2 * v_ + n_ + t; }
  int size() const { return 3 * v_ + n_; }

 private:
  int v_;
  int n_;
};

// The weights of one head: what it asks for, what it answers to, what it carries and where to.
struct HeadWeights {
  Matrix q, k, v;  // [d m]
  Matrix o;        // [m d]
  HeadWeights(int d_head, int d_model)
      : q(d_head, d_model), k(d_head, d_model), v(d_head, d_model), o(d_model, d_head) {}
};

class HeadBuilder {
 public:
  explicit HeadBuilder(const KnownAnswerSizes& sizes)
      : sizes_(sizes), at_(sizes), d_head_(std::max(sizes.n_positions, sizes.n_tokens + 1)) {}

  int d_head() const { return d_head_; }

  HeadWeights empty() const { return {d_head_, at_.size()}; }

  HeadWeights previous_token() const {
    HeadWeights head = empty();
    for (int p = 1; p < sizes_.n_positions; ++p) {
      head.q.at(p - 1, at_.position(p)) = sizes_.sharpness;
    }
    for (int p = 0; p < sizes_.n_positions; ++p) head.k.at(p, at_.position(p)) = 1;
    for (int t = 0; t < sizes_.n_tokens; ++t) {
      head.v.at(t, at_.token(t)) = 1;
      head.o.at(at_.previous(t), t) = 1;
    }
    return head;
  }

  HeadWeights loud_on_bos() const {
    HeadWeights head = empty();
    attend_to_bos(head, sizes_.sharpness);
    return head;
  }

  HeadWeights loud_on_equal_tokens() const {
    HeadWeights head = empty();
    for (int t = 0; t < sizes_.n_tokens; ++t) {
      head.q.at(t, at_.token(t)) = sizes_.sharpness;
      head.k.at(t, at_.token(t)) = 1;
    }
    return head;
  }

  HeadWeights induction() const {
    HeadWeights head = empty();
    for (int t = 0; t < sizes_.n_tokens; ++t) {
      head.q.at(t, at_.token(t)) = sizes_.sharpness;
      head.k.at(t, at_.previous(t)) = 1;
    }
    attend_to_bos(head, sizes_.sharpness / 2);
    raise_logits(head, sizes_.gain);
    return head;
  }

  HeadWeights quiet(double gain) const {
    HeadWeights head = empty();
    raise_logits(head, gain);
    return head;
  }

 private:
  // Every query scores `score` on BOS. A token's one-hot adds up to the constant 1 that this needs.
  void attend_to_bos(HeadWeights& head, double score) const {
    const int dim = sizes_.n_tokens;
    for (int t = 0; t < sizes_.n_tokens; ++t) head.q.at(dim, at_.token(t)) = score;
    head.k.at(dim, at_.token(kBos)) = 1;
  }

  // Each token seen raises its own logit; BOS raises none.
  void raise_logits(HeadWeights& head, double gain) const {
    for (int t = 0; t < sizes_.n_tokens; ++t) {
      if (t == kBos) continue;
      head.v.at(t, at_.token(t)) = 1;
      head.o.at(at_.logit(t), t) = gain;
    }
  }

  KnownAnswerSizes sizes_;
  Coordinates at_;
  int d_head_;
};

using Layer = std::vector<HeadWeights>;

ModelConfig make_config(const KnownAnswerSizes& sizes, const std::vector<Layer>& layers,
                        int d_head) {
  ModelConfig config;
  config.family = "known_answer";
  config.architecture = "known_answer";
  config.stack = StackKind::decoder_only;
  config.d_vocab = config.d_vocab_out = sizes.n_tokens;
  config.d_model = config.d_embed = Coordinates(sizes).size();
  config.n_layers = config.n_distinct_layers = static_cast<int>(layers.size());
  config.n_context = sizes.n_positions;
  config.norm = NormKind::none;
  config.placement = NormPlacement::none;
  config.final_norm = false;
  config.position = PositionKind::learned;
  config.mlp = MlpKind::none;
  config.head = HeadKind::language_model;
  config.tied_head = false;
  config.bos_id = kBos;
  config.stored_dtype = DType::f64;
  for (const Layer& layer : layers) {
    LayerConfig layer_config;
    layer_config.attention.n_heads = static_cast<int>(layer.size());
    layer_config.attention.n_kv_heads = static_cast<int>(layer.size());
    layer_config.attention.d_head = d_head;
    layer_config.attention.scale = 1;
    layer_config.attention.mask = MaskKind::causal;
    config.layers.push_back(layer_config);
  }
  return config;
}

// [h·d m] from the heads' [d m].
Matrix stack_rows(const Layer& layer, Matrix HeadWeights::*part) {
  const Matrix& first = layer.front().*part;
  Matrix stacked(0, first.cols);
  for (const HeadWeights& head : layer) {
    const Matrix& matrix = head.*part;
    stacked.values.insert(stacked.values.end(), matrix.values.begin(), matrix.values.end());
    stacked.rows += matrix.rows;
  }
  return stacked;
}

// [m h·d] from the heads' [m d].
Matrix stack_columns(const Layer& layer) {
  const Matrix& first = layer.front().o;
  Matrix stacked(first.rows, first.cols * static_cast<int>(layer.size()));
  for (std::size_t h = 0; h < layer.size(); ++h) {
    Matrix o = layer[h].o;
    for (int row = 0; row < o.rows; ++row) {
      for (int col = 0; col < o.cols; ++col) {
        stacked.at(row, static_cast<int>(h) * o.cols + col) = o.at(row, col);
      }
    }
  }
  return stacked;
}

void add(MemoryTensorSource& weights, const std::string& name, const Matrix& matrix) {
  weights.add(name, {matrix.rows, matrix.cols}, matrix.values);
}

Checkpoint make_checkpoint(const std::string& name, const KnownAnswerSizes& sizes,
                           const std::vector<Layer>& layers, int d_head) {
  const Coordinates at(sizes);
  Matrix tokens(sizes.n_tokens, at.size());
  Matrix positions(sizes.n_positions, at.size());
  Matrix unembed(sizes.n_tokens, at.size());
  for (int t = 0; t < sizes.n_tokens; ++t) {
    tokens.at(t, at.token(t)) = 1;
    unembed.at(t, at.logit(t)) = 1;
  }
  for (int p = 0; p < sizes.n_positions; ++p) positions.at(p, at.position(p)) = 1;

  auto weights = std::make_shared<MemoryTensorSource>();
  add(*weights, "W_E", tokens);
  add(*weights, "W_pos", positions);
  add(*weights, "W_U", unembed);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::string prefix = "blocks." + std::to_string(l) + ".";
    add(*weights, prefix + "W_Q", stack_rows(layers[l], &HeadWeights::q));
    add(*weights, prefix + "W_K", stack_rows(layers[l], &HeadWeights::k));
    add(*weights, prefix + "W_V", stack_rows(layers[l], &HeadWeights::v));
    add(*weights, prefix + "W_O", stack_columns(layers[l]));
  }

  Checkpoint checkpoint;
  checkpoint.config = make_config(sizes, layers, d_head);
  checkpoint.config.name = name;
  checkpoint.map = bind_by_name(checkpoint.config, {{Role::token_embedding, "W_E"},
                                                    {Role::position_embedding, "W_pos"},
                                                    {Role::head_weight, "W_U"},
                                                    {Role::q_weight, "blocks.{l}.W_Q"},
                                                    {Role::k_weight, "blocks.{l}.W_K"},
                                                    {Role::v_weight, "blocks.{l}.W_V"},
                                                    {Role::o_weight, "blocks.{l}.W_O"}});
  checkpoint.tensors = std::move(weights);
  return checkpoint;
}

}  // namespace

Checkpoint known_induction_model(const KnownAnswerSizes& sizes) {
  const HeadBuilder head(sizes);
  const Layer first = {head.previous_token(), head.loud_on_bos()};
  const Layer second = {head.induction(), head.loud_on_equal_tokens(),
                        head.quiet(sizes.quiet_gain)};
  return make_checkpoint("known-answer induction", sizes, {first, second}, head.d_head());
}

Checkpoint known_quiet_model(const KnownAnswerSizes& sizes) {
  const HeadBuilder head(sizes);
  const Layer only = {head.loud_on_bos(), head.quiet(sizes.quiet_gain)};
  return make_checkpoint("known-answer quiet head", sizes, {only}, head.d_head());
}

std::vector<std::int64_t> known_induction_prompt() {
  std::vector<std::int64_t> ids = {kBos};
  for (int copy = 0; copy < 2; ++copy) {
    for (int t = 1; t <= kDistinct; ++t) ids.push_back(t);
  }
  return ids;
}

double known_induction_metric(std::span<const double> logits, int n_tokens) {
  const std::vector<std::int64_t> ids = known_induction_prompt();
  if (logits.size() != ids.size() * static_cast<std::size_t>(n_tokens)) {
    throw Error(ErrorKind::internal, "KA01",
                {.where = "known-answer metric",
                 .what = "logits of the whole prompt",
                 .expected = std::to_string(ids.size()) + " x " + std::to_string(n_tokens),
                 .got = std::to_string(logits.size()) + " values"});
  }
  double total = 0;
  for (int i = kKnownFirstRow; i <= kKnownLastRow; ++i) {
    const auto row =
        logits.subspan(static_cast<std::size_t>(i * n_tokens), static_cast<std::size_t>(n_tokens));
    const auto next = ids[static_cast<std::size_t>(i) + 1];
    double others = 0;
    for (int t = 1; t < n_tokens; ++t) {
      if (t != next) others += row[static_cast<std::size_t>(t)];
    }
    total += row[static_cast<std::size_t>(next)] - others / (n_tokens - 2);
  }
  return total / (kKnownLastRow - kKnownFirstRow + 1);
}

}  // namespace attnscope
