#include "base_run.h"

#include <ATen/ATen.h>

#include <utility>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

std::unique_ptr<MemorySink> run_donor(const Model& model, const std::vector<SweepPrompt>& prompts,
                                      const std::vector<int>& chunk, std::size_t donor,
                                      const std::set<HookId>& hooks,
                                      const SweepSettings& settings) {
  auto keeper = std::make_unique<MemorySink>(hooks);
  if (hooks.empty()) return keeper;
  std::vector<TokenRow> rows;
  for (const int p : chunk) rows.push_back(prompts[static_cast<std::size_t>(p)].donors[donor]);
  Taps taps;
  taps.observers = {keeper.get()};
  // Layers behind the last one that is kept need not run.
  const int last = hooks.rbegin()->layer;
  int deepest = -1;
  for (const HookId hook : hooks) deepest = std::max(deepest, hook.layer);
  model.run(make_batch(rows), taps,
            {.engine = settings.engine,
             .logits = {.at = LogitsAt::none},
             .stop_after_layer = std::max({last, deepest, 0})});
  return keeper;
}

std::vector<double> metric_of_donors(const Model& model, const std::vector<SweepPrompt>& prompts,
                                     const std::vector<int>& chunk, const MetricReader& reader,
                                     const std::vector<const at::Tensor*>& compared,
                                     const SweepSettings& settings) {
  std::vector<TokenRow> rows;
  for (const int p : chunk) {
    const std::vector<TokenRow>& donors = prompts[static_cast<std::size_t>(p)].donors;
    if (donors.empty()) return {};
    rows.push_back(donors[0]);
  }
  const Batch batch = make_batch(rows);
  const RunResult result =
      model.run(batch, {}, {.engine = settings.engine, .logits = reader.request()});
  std::vector<double> values;
  for (const MetricValue& value : reader.read(result, batch, compared)) {
    values.push_back(value.value);
  }
  return values;
}

}  // namespace

LogitsCoverage coverage_of(SweepMode mode) {
  return mode == SweepMode::fast ? LogitsCoverage::asked : LogitsCoverage::all;
}

BaseRun run_base(const Model& model, const std::vector<SweepPrompt>& prompts,
                 std::vector<int> chunk, const BaseNeeds& needs, const SweepSettings& settings,
                 const std::vector<Observer*>& observers) {
  BaseRun base;
  std::vector<TokenRow> rows;
  std::vector<const MetricTarget*> targets;
  for (const int p : chunk) {
    const SweepPrompt& prompt = prompts[static_cast<std::size_t>(p)];
    rows.push_back(prompt.row);
    targets.push_back(&prompt.target);
  }
  const Batch batch = make_batch(rows);
  base.length = batch.padded_length();
  base.clean = std::make_unique<MemorySink>(needs.clean);
  Taps taps;
  taps.observers = {base.clean.get()};
  taps.observers.insert(taps.observers.end(), observers.begin(), observers.end());
  const MetricReader reader(settings.metric, targets, model.config(), coverage_of(settings.mode));
  const RunResult result = model.run(
      batch, taps,
      {.engine = settings.engine, .logits = reader.request(), .record_base = BaseRecording::on});
  base.keys = result.base;
  for (int r = 0; r < batch.size(); ++r) {
    base.compared.push_back(reader.capture_clean(result, batch, r));
  }
  std::vector<const at::Tensor*> compared;
  for (const at::Tensor& clean : base.compared) {
    compared.push_back(clean.defined() ? &clean : nullptr);
  }
  base.metric = reader.read(result, batch, compared);
  for (std::size_t d = 0; d < needs.donor.size(); ++d) {
    base.donors.push_back(run_donor(model, prompts, chunk, d, needs.donor[d], settings));
  }
  base.donor_metric = metric_of_donors(model, prompts, chunk, reader, compared, settings);
  base.prompts = std::move(chunk);
  return base;
}

}  // namespace attnscope
