// Rows of the maps, and edits of the pattern that must or must not change the output.
#include <algorithm>
#include <limits>

#include "checks.h"
#include "recorder.h"

namespace attnscope {
namespace {

// A finished pattern row sums to this: 1 less what a learned sink takes, and with a mixed softmax
// mix + (1 − mix)·(visible keys).
at::Tensor expected_row_sums(const at::Tensor& pattern, const at::Tensor& scores,
                             const AttentionSpec& spec) {
  const at::Tensor visible = at::isfinite(scores);
  if (spec.learned_sink) return pattern.sum(-1);
  if (spec.softmax_mix == 1) return at::ones_like(pattern.sum(-1));
  return spec.softmax_mix + (1 - spec.softmax_mix) * visible.sum(-1).to(at::kDouble);
}

DoctorCheck rows_sum_to_one(const Model& model, const Recorder& seen) {
  Worst worst("rows of the maps sum to 1");
  for (int layer = 0; layer < model.config().n_layers; ++layer) {
    const AttentionSpec& spec = model.config().layers[static_cast<std::size_t>(layer)].attention;
    if (spec.learned_sink) continue;
    const at::Tensor pattern = seen.value({Site::pattern, layer});
    const at::Tensor scores = seen.value({Site::attn_scores, layer});
    const double allowed = model.dtype() == DType::f32 ? 1e-6 : tolerance_of(model).hidden;
    worst.compare(pattern.sum(-1), expected_row_sums(pattern, scores, spec), allowed, layer);
  }
  return worst.finish("the learned sinks take part of every row");
}

// Masked means −inf before the softmax and exactly 0 after it.
DoctorCheck masked_is_zero(const Model& model, const Recorder& seen) {
  Worst worst("masked keys have weight 0");
  for (int layer = 0; layer < model.config().n_layers; ++layer) {
    const at::Tensor masked = at::isneginf(seen.value({Site::attn_scores, layer}));
    if (!masked.any().item<bool>()) continue;
    const at::Tensor weights = seen.value({Site::pattern, layer}).masked_select(masked);
    worst.compare(weights, at::zeros_like(weights), 0, layer);
  }
  return worst.finish("every key is visible to every query");
}

// Runs with an edit of the pattern of every layer, on the explicit path.
at::Tensor edited_output(const Patient& patient, const std::vector<Intervention>& edits) {
  Taps taps;
  taps.interventions = edits;
  return output_of(
      patient.model.run(make_batch({patient.prompt}), taps, {.engine = Engine::reference}));
}

}  // namespace

std::vector<DoctorCheck> check_maps(const Patient& patient) {
  const Model& model = patient.model;
  Recorder seen({Site::pattern, Site::attn_scores});
  Taps taps;
  taps.observers = {&seen};
  const at::Tensor plain =
      output_of(model.run(make_batch({patient.prompt}), taps, {.engine = Engine::reference}));

  std::vector<Intervention> same, uniform;
  for (int layer = 0; layer < model.config().n_layers; ++layer) {
    const HookId hook{Site::pattern, layer};
    same.push_back(
        {.hook = hook, .operation = Operation::set, .value = seen.value(hook).unsqueeze(0)});
    uniform.push_back({.hook = hook, .operation = Operation::uniform});
  }

  std::vector<DoctorCheck> checks = {rows_sum_to_one(model, seen), masked_is_zero(model, seen)};

  Worst overwritten("maps overwritten with themselves: the same output, bit for bit");
  overwritten.compare(edited_output(patient, same), plain, 0, -1);
  checks.push_back(overwritten.finish(""));

  DoctorCheck moved{.name = "uniform maps: the output moves"};
  moved.measured = (edited_output(patient, uniform) - plain).abs().max().item<double>();
  moved.result = moved.measured > 0 ? CheckResult::passed : CheckResult::failed;
  moved.allowed = std::numeric_limits<double>::quiet_NaN();
  moved.note = "must not be 0";
  checks.push_back(moved);

  Worst fused("fused attention = explicit attention");
  const RunResult automatic = model.run(make_batch({patient.prompt}), Taps{}, {});
  const bool any_fused =
      std::any_of(automatic.engines.begin(), automatic.engines.end(),
                  [](const LayerEngine& layer) { return layer.engine == Engine::aten; });
  if (any_fused) fused.compare(output_of(automatic), plain, tolerance_of(model).logits, -1);
  checks.push_back(fused.finish("no layer of this model can be fused"));
  return checks;
}

}  // namespace attnscope
