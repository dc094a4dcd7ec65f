#include "frozen_run.h"

#include <gtest/gtest.h>

#include <map>

namespace attnscope::testing {
namespace {

bool is_scale(Site site) {
  return site == Site::ln1_scale || site == Site::ln2_scale || site == Site::ln_final_scale;
}

// The scales that a changed run has, which the frozen run must not use.
class ScaleWatcher final : public Observer {
 public:
  Want want(HookId hook) const override {
    return is_scale(hook.site) ? Want::whole_value() : Want::nothing();
  }
  void on_value(HookId hook, const at::Tensor& value, const Batch&) override {
    latest[hook] = value.clone();
  }
  std::map<HookId, at::Tensor> latest;
};

Site scale_of(Site normalized) {
  if (normalized == Site::ln1_normalized) return Site::ln1_scale;
  return normalized == Site::ln2_normalized ? Site::ln2_scale : Site::ln_final_scale;
}

bool is_normalized(Site site) {
  return site == Site::ln1_normalized || site == Site::ln2_normalized ||
         site == Site::ln_final_normalized;
}

}  // namespace

CleanRun::CleanRun(const Model& of_model, const TokenRow& row)
    : model(of_model),
      batch(make_batch({row})),
      outcome(run_and_record(of_model, batch, of_model.sites().hooks)) {}

at::Tensor frozen_outputs(const CleanRun& clean, HookId part, const at::Tensor& value) {
  ScaleWatcher watcher;
  Taps taps;
  taps.observers = {&watcher};
  taps.interventions = {{.hook = part, .operation = Operation::set, .value = value}};
  bool behind = false;
  const bool stream_is_normalised = clean.model.config().placement == NormPlacement::post;
  for (const HookId hook : clean.model.sites().hooks) {
    if (hook == part) {
      behind = true;
      continue;
    }
    if (!behind) continue;
    if (hook.site == Site::attn_out || hook.site == Site::mlp_out) {
      taps.interventions.push_back(
          {.hook = hook, .operation = Operation::set, .value = clean.value(hook.site, hook.layer)});
    }
    // In other models only the final norm lies on the stream itself.
    if (is_normalized(hook.site) &&
        (stream_is_normalised || hook.site == Site::ln_final_normalized)) {
      const HookId scale{scale_of(hook.site), hook.layer};
      taps.edits[hook] = [&watcher, &clean, scale](HookId, const at::Tensor& x, const Batch&) {
        return x * watcher.latest.at(scale) / clean.value(scale.site, scale.layer);
      };
    }
  }
  return run_and_record(clean.model, clean.batch, {}, taps).output[0];
}

at::Tensor attn_out_without(const CleanRun& clean, int layer, const at::Tensor& removed) {
  const ModelConfig& config = clean.model.config();
  at::Tensor change = removed;
  if (config.placement == NormPlacement::sandwich) {
    at::Tensor sum = clean.value(Site::result, layer).sum(2);
    const at::Tensor bias = clean.model.weight(Role::o_bias, layer);
    if (bias.defined()) sum = sum + bias;
    EXPECT_EQ(config.norm, NormKind::rms_norm);
    const at::Tensor scale = (sum.pow(2).mean(-1, true) + config.norm_eps).sqrt();
    change = change / scale *
             (clean.model.weight(Role::ln1_post_weight, layer) + config.norm_weight_offset);
  }
  return clean.value(Site::attn_out, layer) - change * config.residual_multiplier;
}

}  // namespace attnscope::testing
