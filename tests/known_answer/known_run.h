// File: known_run.h
// Runs of the known-answer models in float64.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "attnscope/core/taps.h"
#include "attnscope/model/model.h"
#include "attnscope/probes/known_answer.h"
#include "attnscope/support/warnings.h"

namespace attnscope::testing {

inline Model load_known(const Checkpoint& checkpoint) {
  Warnings warnings;
  return Model::load(checkpoint, {.dtype = DType::f64}, warnings);
}

// Keeps whole values and maps of prompts of at most 128 tokens.
class KnownRecorder final : public Observer {
 public:
  explicit KnownRecorder(std::vector<HookId> hooks) : hooks_(std::move(hooks)) {}
  Want want(HookId hook) const override {
    if (std::find(hooks_.begin(), hooks_.end(), hook) == hooks_.end()) return Want::nothing();
    return hook.site == Site::pattern ? Want::all_maps() : Want::whole_value();
  }
  void on_value(HookId hook, const at::Tensor& value, const Batch&) override {
    values[hook] = value.clone();
  }
  void on_map_rows(HookId hook, const MapRows& rows, const Batch&) override {
    values[hook] = rows.values.clone();
  }
  std::map<HookId, at::Tensor> values;

 private:
  std::vector<HookId> hooks_;
};

inline double metric_of(const Model& model, const std::vector<Intervention>& interventions = {}) {
  const Batch batch = make_batch({{.ids = known_induction_prompt()}});
  Taps taps;
  taps.interventions = interventions;
  const at::Tensor logits =
      model.run(batch, taps, {.engine = Engine::reference}).logits.contiguous();
  return known_induction_metric(
      {logits.const_data_ptr<double>(), static_cast<std::size_t>(logits.numel())},
      model.config().d_vocab);
}

inline std::map<HookId, at::Tensor> record(const Model& model, const std::vector<std::int64_t>& ids,
                                           const std::vector<HookId>& hooks,
                                           const std::vector<Intervention>& interventions = {}) {
  KnownRecorder recorder(hooks);
  Taps taps;
  taps.interventions = interventions;
  taps.observers.push_back(&recorder);
  model.run(make_batch({{.ids = ids}}), taps, {.engine = Engine::reference});
  return recorder.values;
}

inline Intervention zero_head(int layer, int head) {
  return {.hook = {Site::z, layer}, .operation = Operation::zero, .heads = {head}};
}

}  // namespace attnscope::testing
