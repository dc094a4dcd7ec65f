// The sums of the residual stream that hold at every layer.
#include "checks.h"
#include "recorder.h"

namespace attnscope {
namespace {

struct Sum {
  const char* name;
  std::vector<Site> parts;
  Site total;
};

// The norm that follows a residual sum in a post-norm model, in float64.
at::Tensor post_norm(const Model& model, const at::Tensor& x, Role gain, Role bias, int layer) {
  const ModelConfig& config = model.config();
  const auto as_double = [&](Role role) {
    const at::Tensor weight = model.weight(role, layer);
    return weight.defined() ? weight.to(at::kCPU, at::kDouble) : weight;
  };
  at::Tensor centred = x;
  if (config.norm == NormKind::layer_norm) centred = x - x.mean(-1, true);
  at::Tensor y = centred * (centred.square().mean(-1, true) + config.norm_eps).rsqrt();
  if (const at::Tensor w = as_double(gain); w.defined()) y = y * (w + config.norm_weight_offset);
  if (const at::Tensor b = as_double(bias); b.defined()) y = y + b;
  return y;
}

class SumCheck {
 public:
  SumCheck(const Model& model, const Recorder& seen) : model_(model), seen_(seen) {}

  // parts = total at every layer that has all of them.
  DoctorCheck run(const Sum& sum) const {
    Worst worst(sum.name);
    for (int layer = 0; layer < model_.config().n_layers; ++layer) {
      bool all = has(sum.total, layer);
      for (const Site part : sum.parts) all = all && has(part, layer);
      if (!all) continue;
      at::Tensor expected = at(sum.parts.front(), layer);
      for (std::size_t i = 1; i < sum.parts.size(); ++i) {
        expected = expected + at(sum.parts[i], layer);
      }
      worst.compare(at(sum.total, layer), expected, tolerance_of(model_).hidden, layer);
    }
    return worst.finish("the model has no such sites");
  }

  DoctorCheck norm_of_sum() const {
    Worst worst("normalized_resid_mid = norm(resid_mid)");
    for (int layer = 0; layer < model_.config().n_layers; ++layer) {
      if (!has(Site::normalized_resid_mid, layer)) continue;
      worst.compare(
          at(Site::normalized_resid_mid, layer),
          post_norm(model_, at(Site::resid_mid, layer), Role::ln1_weight, Role::ln1_bias, layer),
          tolerance_of(model_).hidden, layer);
    }
    return worst.finish("only post-norm models have it");
  }

  // What a layer hands on is what the next one reads.
  DoctorCheck handed_on() const {
    Worst worst("a layer's output = the next layer's resid_pre");
    for (int layer = 0; layer + 1 < model_.config().n_layers; ++layer) {
      const Site out =
          has(Site::normalized_resid_post, layer) ? Site::normalized_resid_post : Site::resid_post;
      worst.compare(at(Site::resid_pre, layer + 1), at(out, layer), 0, layer);
    }
    return worst.finish("the model has one layer");
  }

 private:
  bool has(Site site, int layer) const { return seen_.has({site, layer}); }
  at::Tensor at(Site site, int layer) const { return seen_.value({site, layer}); }

  const Model& model_;
  const Recorder& seen_;
};

}  // namespace

std::vector<DoctorCheck> check_sums(const Patient& patient) {
  const ModelConfig& config = patient.model.config();
  Recorder seen({Site::resid_pre, Site::attn_out, Site::resid_mid, Site::normalized_resid_mid,
                 Site::mlp_out, Site::resid_post, Site::normalized_resid_post});
  Taps taps;
  taps.observers = {&seen};
  // Fused attention of the CPU turns a NaN score into finite numbers, which would hide it.
  patient.model.run(make_batch({patient.prompt}), taps,
                    {.engine = Engine::reference, .logits = {.at = LogitsAt::none}});

  const SumCheck check(patient.model, seen);
  std::vector<Sum> sums;
  if (config.mlp == MlpKind::none) {
    sums = {
        {"resid_pre + attn_out = resid_post", {Site::resid_pre, Site::attn_out}, Site::resid_post}};
  } else if (config.parallel_block) {
    sums = {{"resid_pre + attn_out + mlp_out = resid_post",
             {Site::resid_pre, Site::attn_out, Site::mlp_out},
             Site::resid_post}};
  } else {
    const bool post = config.placement == NormPlacement::post;
    sums = {
        {"resid_pre + attn_out = resid_mid", {Site::resid_pre, Site::attn_out}, Site::resid_mid},
        {post ? "normalized_resid_mid + mlp_out = resid_post" : "resid_mid + mlp_out = resid_post",
         {post ? Site::normalized_resid_mid : Site::resid_mid, Site::mlp_out},
         Site::resid_post}};
  }
  std::vector<DoctorCheck> checks;
  for (const Sum& sum : sums) checks.push_back(check.run(sum));
  checks.push_back(check.norm_of_sum());
  checks.push_back(check.handed_on());
  return checks;
}

}  // namespace attnscope
