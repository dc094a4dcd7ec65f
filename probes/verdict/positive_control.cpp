// The known-answer model with planted heads, judged in the same process by the same code.
#include "attnscope/probes/known_answer_varied.h"
#include "measure.h"

namespace attnscope {

PositiveControl run_positive_control(const SweepSettings& sweep, std::uint64_t seed) {
  Warnings warnings;
  const VariedSizes sizes;
  const Model model = Model::load(varied_induction_model(sizes), {}, warnings);
  VerdictWorld world = {.model = model, .has_corrupt = true};
  for (const VariedPrompt& prompt : varied_induction_prompts(sizes)) {
    world.prompts.push_back(
        {.row = {.ids = prompt.clean, .token_types = {}, .position_ids = {}},
         .donors = {{.ids = prompt.corrupt, .token_types = {}, .position_ids = {}}},
         .target = {.answers = {prompt.answer}, .wrongs = {prompt.wrong}}});
    world.clusters.push_back(prompt.cluster);
  }
  for (const VariedTruth& truth : kVariedTruth) {
    world.units.push_back(
        {{.kind = UnitKind::head, .layer = truth.head.layer, .index = truth.head.head}});
  }
  world.halves = split_clusters(static_cast<std::size_t>(sizes.clusters), seed);
  // Not to be stopped: it takes about a second, and the stages behind it know how to go on.
  MeasureOptions options = {
      .methods = {AblationMethod::zero, AblationMethod::mean, AblationMethod::resample},
      .sweep = {.verify = 0},
      .random_draws = 0,
      .resamples = 2000};
  options.sweep.workers = sweep.workers;
  options.sweep.seed = seed;
  const VerdictMeasurement measured = measure_verdict(world, options);
  const VerdictResult result =
      judge(measured.input, {.delta = measured.delta, .seed = seed, .draws = options.resamples},
            measured.estimates);
  PositiveControl control = {ControlOutcome::passed, ""};
  for (std::size_t i = 0; i < kVariedTruth.size(); ++i) {
    const bool causal = kVariedTruth[i].verdict == KnownVerdict::causal;
    const Verdict expected = causal ? Verdict::causal : Verdict::no_effect;
    if (result.units[i].verdict == expected) continue;
    control.outcome = ControlOutcome::failed;
    control.note += (control.note.empty() ? "" : "; ") + measured.input.units[i] + " is " +
                    std::string(verdict_name(expected)) + " and came out " +
                    std::string(verdict_name(result.units[i].verdict));
  }
  return control;
}

}  // namespace attnscope
