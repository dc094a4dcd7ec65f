#include "logit_lens.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <tuple>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

constexpr std::int64_t kNoToken = -1;

// Keeps what every layer reads and what the last one leaves: the stages of one row.
class StageRecorder final : public Observer {
 public:
  explicit StageRecorder(const ModelConfig& config)
      : n_layers_(config.n_layers), stages_(static_cast<std::size_t>(config.n_layers) + 1) {
    const bool post = config.norm != NormKind::none && config.placement == NormPlacement::post;
    last_ = post ? (config.mlp == MlpKind::none ? Site::normalized_resid_mid
                                                : Site::normalized_resid_post)
                 : Site::resid_post;
  }

  Want want(HookId hook) const override {
    const bool end = hook.site == last_ && hook.layer == n_layers_ - 1;
    return hook.site == Site::resid_pre || end ? Want::whole_value() : Want::nothing();
  }
  void on_value(HookId hook, const at::Tensor& value, const Batch&) override {
    const int stage = hook.site == Site::resid_pre ? hook.layer : n_layers_;
    stages_[static_cast<std::size_t>(stage)] = value.clone();
  }

  const std::vector<at::Tensor>& stages() const { return stages_; }  // [1 q m] each

 private:
  int n_layers_;
  Site last_;
  std::vector<at::Tensor> stages_;
};

// The model's head on residuals [1 q m], as log-probabilities [q v] in float64.
at::Tensor log_probabilities(const Model& model, const at::Tensor& residual) {
  const auto length = static_cast<std::size_t>(residual.size(1));
  RunBase base;
  base.batch = make_batch({{.ids = std::vector<std::int64_t>(length, 0)}});
  RunOptions options;
  options.context = ContextLimit::exceed;  // the head knows no positions
  const RunResult result =
      model.run_from({.layer = model.config().n_layers}, {.residual = residual}, base,
                     {.base_row = {0}}, {}, options);
  return result.logits[0].to(at::kDouble).log_softmax(-1);
}

void check(const Model& model, const LogitLensOptions& options) {
  const ModelConfig& config = model.config();
  if (const std::string obstacle = lens_obstacle(config); !obstacle.empty()) {
    throw Error(ErrorKind::input, "LE01",
                {.where = config.name,
                 .what = obstacle,
                 .next = "use a language model, or a model that labels every token"});
  }
  for (const std::int64_t target : options.targets) {
    if (target >= 0 && target < config.d_vocab_out) continue;
    throw Error(ErrorKind::input, "LE01",
                {.where = config.name,
                 .what = "answer " + std::to_string(target) + " does not exist",
                 .expected = "0 to " + std::to_string(config.d_vocab_out - 1)});
  }
}

// Fills the positions [begin, begin + length) of the lens.
class Block {
 public:
  Block(LogitLens& lens, std::int64_t begin, const at::Tensor& model_says,
        const std::vector<std::int64_t>& targets)
      : lens_(lens), begin_(begin), model_says_(model_says) {
    const at::TensorOptions integers(at::kLong);
    // Of equal logits the one that the list of first choices begins with.
    first_choice_ = std::get<1>(model_says.topk(lens.top_id.size(-1), -1)).select(-1, 0);
    targets_ = targets.empty()
                   ? first_choice_.unsqueeze(-1)
                   : at::tensor(targets, integers)
                         .to(model_says.device())
                         .expand({model_says.size(0), static_cast<std::int64_t>(targets.size())});
    part(lens_.first_choice).copy_(first_choice_);
  }

  void fill(std::int64_t stage, const at::Tensor& says) {
    const auto [top_prob, top_id] = says.topk(lens_.top_id.size(-1), -1);
    // Where a prediction is NaN nothing comes first.
    part(lens_.top_id[stage]).copy_(top_id.masked_fill(top_prob.isnan(), kNoToken));
    part(lens_.top_prob[stage]).copy_(top_prob.exp());
    const at::Tensor of_targets = says.gather(-1, targets_);  // [q t]
    part(lens_.target_log_prob[stage]).copy_(of_targets.mean(-1));
    const at::Tensor best = of_targets.amax(-1, true);
    part(lens_.target_rank[stage])
        .copy_((says > best).sum(-1).masked_fill(best.squeeze(-1).isnan(), kNoToken));
    // A token that the model excludes (−∞) adds nothing.
    const at::Tensor terms = model_says_.exp() * (model_says_ - says);
    part(lens_.kl[stage])
        .copy_(at::where(model_says_.isneginf(), at::zeros_like(terms), terms).sum(-1));
  }

 private:
  at::Tensor part(const at::Tensor& whole) const {
    return whole.narrow(0, begin_, model_says_.size(0));
  }

  LogitLens& lens_;
  std::int64_t begin_;
  at::Tensor model_says_;  // [q v]
  at::Tensor first_choice_;
  at::Tensor targets_;  // [q t]
};

LogitLens empty_lens(std::int64_t stages, std::int64_t q, std::int64_t k) {
  const at::TensorOptions integers(at::kLong);
  const at::TensorOptions numbers(at::kDouble);
  return {.top_id = at::empty({stages, q, k}, integers),
          .top_prob = at::empty({stages, q, k}, numbers),
          .target_rank = at::empty({stages, q}, integers),
          .target_log_prob = at::empty({stages, q}, numbers),
          .kl = at::empty({stages, q}, numbers),
          .first_choice = at::empty({q}, integers)};
}

}  // namespace

std::string lens_obstacle(const ModelConfig& config) {
  if (config.head == HeadKind::none) return "the model has no head, so no layer can be read by it";
  if (config.head == HeadKind::classifier && config.classifier != ClassifierKind::every_token) {
    return "the model's classifier reads one position, so there is nothing to say of the others";
  }
  return "";
}

std::uint64_t lens_memory(const ModelConfig& config, std::int64_t length, std::size_t value_size) {
  const std::int64_t stages = config.n_layers + 1;
  const std::int64_t logits = std::max<std::int64_t>(
      config.d_vocab_out, std::min(LogitLensOptions{}.block, length * config.d_vocab_out));
  constexpr int kCopies = 6;  // of the logits in float64: two stages, and what is made of them
  return static_cast<std::uint64_t>(stages * length * config.d_model) * value_size +
         static_cast<std::uint64_t>(kCopies * logits) * sizeof(double);
}

LogitLens logit_lens(const Model& model, const TokenRow& row, const LogitLensOptions& options) {
  check(model, options);
  const ModelConfig& config = model.config();
  StageRecorder recorder(config);
  Taps taps;
  taps.observers = {&recorder};
  RunOptions run{.engine = options.engine};
  run.logits.at = LogitsAt::none;
  model.run(make_batch({row}), taps, run);

  const std::vector<at::Tensor>& stages = recorder.stages();
  const std::int64_t v = config.d_vocab_out;
  const auto q = static_cast<std::int64_t>(row.ids.size());
  LogitLens lens = empty_lens(static_cast<std::int64_t>(stages.size()), q,
                              std::min<std::int64_t>(options.top_k, v));
  const std::int64_t step = std::max<std::int64_t>(1, options.block / v);
  for (std::int64_t begin = 0; begin < q; begin += step) {
    const std::int64_t length = std::min(step, q - begin);
    const auto says = [&](std::size_t stage) {
      return log_probabilities(model, stages[stage].narrow(1, begin, length));
    };
    const at::Tensor model_says = says(stages.size() - 1);
    Block block(lens, begin, model_says, options.targets);
    for (std::size_t stage = 0; stage + 1 < stages.size(); ++stage) {
      block.fill(static_cast<std::int64_t>(stage), says(stage));
    }
    block.fill(static_cast<std::int64_t>(stages.size()) - 1, model_says);
  }
  return lens;
}

}  // namespace attnscope
