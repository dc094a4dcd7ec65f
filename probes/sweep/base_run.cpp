#include "base_run.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

struct DonorRun {
  std::unique_ptr<MemorySink> values;
  std::vector<double> metric;  // [prompt]
};

// Donor `donor` of every prompt, in one batch; nothing where a prompt lacks it.
std::vector<TokenRow> donor_rows(const std::vector<SweepPrompt>& prompts,
                                 const std::vector<int>& chunk, std::size_t donor) {
  std::vector<TokenRow> rows;
  for (const int p : chunk) {
    const std::vector<TokenRow>& donors = prompts[static_cast<std::size_t>(p)].donors;
    if (donors.size() <= donor) return {};
    rows.push_back(donors[donor]);
  }
  return rows;
}

// Layers behind the last one that is kept need not run unless the metric is read.
RunOptions donor_options(const std::set<HookId>& hooks, const MetricReader* reader, Engine engine) {
  if (reader != nullptr) return {.engine = engine, .logits = reader->request()};
  int deepest = 0;
  for (const HookId hook : hooks) deepest = std::max(deepest, hook.layer);
  return {.engine = engine, .logits = {.at = LogitsAt::none}, .stop_after_layer = deepest};
}

DonorRun run_donor(const Model& model, const std::vector<TokenRow>& rows,
                   const std::set<HookId>& hooks, const MetricReader* reader,
                   const std::vector<const at::Tensor*>& compared, Engine engine) {
  DonorRun donor = {.values = std::make_unique<MemorySink>(hooks), .metric = {}};
  if (rows.empty() || (hooks.empty() && reader == nullptr)) return donor;
  Taps taps;
  taps.observers = {donor.values.get()};
  const Batch batch = make_batch(rows);
  const RunResult result = model.run(batch, taps, donor_options(hooks, reader, engine));
  if (reader == nullptr) return donor;
  for (const MetricValue& value : reader->read(result, batch, compared)) {
    donor.metric.push_back(value.value);
  }
  return donor;
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
  const bool measured = needs.donor_metric == DonorMetric::measured;
  const std::size_t n_donors = std::max<std::size_t>(needs.donor.size(), measured ? 1 : 0);
  for (std::size_t d = 0; d < n_donors; ++d) {
    const std::set<HookId> hooks = d < needs.donor.size() ? needs.donor[d] : std::set<HookId>{};
    const MetricReader* read = measured && d == 0 ? &reader : nullptr;
    DonorRun donor =
        run_donor(model, donor_rows(prompts, chunk, d), hooks, read, compared, settings.engine);
    base.donors.push_back(std::move(donor.values));
    if (read != nullptr) base.donor_metric = std::move(donor.metric);
  }
  base.prompts = std::move(chunk);
  return base;
}

}  // namespace attnscope
