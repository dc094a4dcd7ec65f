// From a change of the residual stream to the outputs, with all norms on the way frozen.
#include <ATen/ATen.h>

#include <string>

#include "attnscope/probes/attribution.h"
#include "attnscope/support/error.h"
#include "frozen.h"

namespace attnscope {
namespace {

// centre(change) / scale · gain: a norm with its scale [r 1] held, on a change [r … m].
at::Tensor frozen_norm(const ModelConfig& config, const at::Tensor& change, at::Tensor scale,
                       const at::Tensor& gain) {
  while (scale.dim() < change.dim()) scale = scale.unsqueeze(1);
  return centred(config, change) / scale * gain;
}

bool head_is_linear(const Model& model) {
  const HeadKind head = model.config().head;
  if (head == HeadKind::language_model) return true;
  if (head == HeadKind::none) return false;
  return !model.weight(Role::head_dense_weight).defined();
}

at::Tensor chosen_rows(const at::Tensor& table, const std::vector<std::int64_t>& rows) {
  if (rows.empty() || !table.defined()) return table;
  return table.index_select(0, at::tensor(rows, at::TensorOptions(at::kLong)).to(table.device()));
}

void check_columns(const Model& model, const std::vector<std::int64_t>& columns) {
  const bool headless = model.config().head == HeadKind::none;
  const std::int64_t size = headless ? 0 : model.config().d_vocab_out;
  for (const std::int64_t column : columns) {
    if (column >= 0 && column < size) continue;
    throw Error(ErrorKind::input, "AT04",
                {.where = "attribution",
                 .what = headless ? std::string("this model has no head, so it has no logits")
                                  : "logit " + std::to_string(column) + " does not exist",
                 .expected = headless ? "" : "0 to " + std::to_string(size - 1)});
  }
}

// A batch of `rows` rows of one token each, for heads that are run on given residuals.
RunBase single_tokens(std::int64_t rows) {
  RunBase base;
  base.batch = make_batch(std::vector<TokenRow>(static_cast<std::size_t>(rows), {.ids = {0}}));
  return base;
}

}  // namespace

DirectPath::DirectPath(const Model& model, FrozenReads reads, std::vector<std::int64_t> columns)
    : model_(model), reads_(std::move(reads)), columns_(std::move(columns)) {
  check_columns(model, columns_);
  const ModelConfig& config = model.config();
  linear_ = head_is_linear(model);
  if (has_final_norm(config)) final_scale_ = norm_scale(config, reads_.residual);
  if (!linear_) {
    if (has_final_norm(config) && config.head != HeadKind::none) {
      throw Error(ErrorKind::input, "AT02",
                  {.where = config.name,
                   .what = "direct effects are not defined for a head with a hidden layer behind a "
                           "final norm"});
    }
    raw_ = clean_ = through_head(reads_.residual);
    return;
  }
  // logit_c = multiplier · (W_U[c] · (gain · centre(x) / scale + bias) + b_U[c]).
  at::Tensor rows = wide(chosen_rows(model.weight(Role::head_weight), columns_));
  constant_ = at::zeros({rows.size(0)}, rows.options());
  const at::Tensor head_bias = wide_weight(model, Role::head_bias);
  if (head_bias.defined()) constant_ = constant_ + chosen_rows(head_bias, columns_);
  if (has_final_norm(config)) {
    const at::Tensor norm_bias = wide_weight(model, Role::final_norm_bias);
    if (norm_bias.defined()) constant_ = constant_ + rows.mv(norm_bias);
    rows = centred(config, rows * gain_of(model, Role::final_norm_weight));
  }
  unembed_ = rows * config.logit_multiplier;
  constant_ = constant_ * config.logit_multiplier;
  at::Tensor x = reads_.residual;
  if (final_scale_.defined()) x = x / final_scale_;
  raw_ = x.mm(unembed_.t()) + constant_;
  clean_ = capped(raw_);
}

at::Tensor DirectPath::outputs_after(int layer, ResidualPart part, const at::Tensor& change) const {
  // Sums over several changes may come in a wider type than the model's.
  at::Tensor x = at_the_end(layer, part, change.to(reads_.residual.scalar_type()));
  if (linear_) {
    if (final_scale_.defined()) x = x / final_scale_.unsqueeze(1);
    return capped(raw_.unsqueeze(1) + x.matmul(unembed_.t()));
  }
  if (model_.config().head == HeadKind::none) {
    if (final_scale_.defined()) {
      x = frozen_norm(model_.config(), x, final_scale_, gain_of(model_, Role::final_norm_weight));
    }
    return clean_.unsqueeze(1) + x;
  }
  // The unchanged stream goes along as change 0, since a product rounds by its number of rows.
  const at::Tensor with_clean = at::constant_pad_nd(x, {0, 0, 1, 0});
  const at::Tensor outputs = through_head((reads_.residual.unsqueeze(1) + with_clean).flatten(0, 1))
                                 .unflatten(0, {change.size(0), change.size(1) + 1});
  const at::Tensor effect = outputs.narrow(1, 1, change.size(1)) - outputs.narrow(1, 0, 1);
  return clean_.unsqueeze(1) + effect;
}

at::Tensor DirectPath::attn_out_change(int layer, const at::Tensor& z_change) const {
  const ModelConfig& config = model_.config();
  at::Tensor change = at::einsum("rnhd,hdm->rnhm", {wide(z_change), output_by_head(model_, layer)});
  if (!reads_.attn_scale.empty()) {
    change = frozen_norm(config, change, reads_.attn_scale[static_cast<std::size_t>(layer)],
                         gain_of(model_, Role::ln1_post_weight, layer));
  }
  return change * config.residual_multiplier;
}

at::Tensor DirectPath::mlp_out_change(int layer, const at::Tensor& post_change) const {
  const ModelConfig& config = model_.config();
  at::Tensor change =
      wide(post_change).matmul(wide_weight(model_, Role::mlp_out_weight, layer).t());
  if (!reads_.mlp_scale.empty()) {
    change = frozen_norm(config, change, reads_.mlp_scale[static_cast<std::size_t>(layer)],
                         gain_of(model_, Role::ln2_post_weight, layer));
  }
  return change * config.residual_multiplier;
}

at::Tensor DirectPath::directions() const {
  if (!linear_ || is_post_norm(model_.config())) {
    throw Error(ErrorKind::input, "AT02",
                {.where = model_.config().name, .what = attribution_obstacle(model_.config())});
  }
  const auto r = reads_.residual.size(0);
  const at::Tensor rows = unembed_.unsqueeze(0);
  return final_scale_.defined() ? rows / final_scale_.unsqueeze(1)
                                : rows.expand({r, rows.size(1), rows.size(2)});
}

at::Tensor DirectPath::constant() const {
  return constant_.expand_as(raw_);
}

// The change that the final norm or the head sees.
at::Tensor DirectPath::at_the_end(int layer, ResidualPart part, at::Tensor change) const {
  const ModelConfig& config = model_.config();
  if (!is_post_norm(config)) return change;
  for (int l = layer; l < config.n_layers; ++l) {
    const auto at = static_cast<std::size_t>(l);
    if (l > layer || part == ResidualPart::attn_out) {
      change =
          frozen_norm(config, change, reads_.ln1_scale[at], gain_of(model_, Role::ln1_weight, l));
    }
    if (config.mlp == MlpKind::none) continue;
    change =
        frozen_norm(config, change, reads_.ln2_scale[at], gain_of(model_, Role::ln2_weight, l));
  }
  return change;
}

// The model's own head on given residuals [x m] → [x c], each as the one token of a row.
at::Tensor DirectPath::through_head(const at::Tensor& residual) const {
  const std::int64_t n = residual.size(0);
  const RunBase base = single_tokens(n);
  ResumeRows rows;
  for (int r = 0; r < n; ++r) rows.base_row.push_back(r);
  RunOptions options;
  options.logits = {.at = LogitsAt::all, .columns = columns_};
  const at::Tensor x = residual.to(model_.weight(Role::token_embedding).scalar_type());
  const RunResult result = model_.run_from({.layer = model_.config().n_layers},
                                           {.residual = x.unsqueeze(1)}, base, rows, {}, options);
  return wide(result.logits.defined() ? result.logits : result.hidden).squeeze(1);
}

at::Tensor DirectPath::capped(const at::Tensor& raw) const {
  const double cap = model_.config().final_softcap;
  return cap == 0 ? raw : at::tanh(raw / cap) * cap;
}

}  // namespace attnscope
