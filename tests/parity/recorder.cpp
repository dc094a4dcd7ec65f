#include "recorder.h"

namespace attnscope::testing {
namespace {

at::Tensor copied(const at::Tensor& value) {
  return value.to(at::kCPU, value.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace

bool is_map(Site site) {
  return site == Site::attn_scores || site == Site::pattern;
}

Want Recorder::want(HookId hook) const {
  if (!hooks_.contains(hook)) return Want::nothing();
  return is_map(hook.site) ? Want::all_maps() : Want::whole_value();
}

void Recorder::on_value(HookId hook, const at::Tensor& value, const Batch&) {
  blocks_[hook] = {copied(value)};
}

void Recorder::on_map_rows(HookId hook, const MapRows& rows, const Batch&) {
  if (rows.q_begin == 0) blocks_[hook].clear();
  blocks_[hook].push_back(copied(rows.values));
}

at::Tensor Recorder::value(HookId hook) const {
  const std::vector<at::Tensor>& blocks = blocks_.at(hook);
  return blocks.size() == 1 ? blocks.front() : at::cat(blocks, 2);
}

Want StatisticsRecorder::want(HookId hook) const {
  return hook.site == Site::pattern ? Want{.statistics = true} : Want::nothing();
}

void StatisticsRecorder::on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                                       const Batch&) {
  layers_[hook.layer].assign(rows.begin(), rows.end());
}

Outcome run_and_record(const Model& model, const Batch& batch, const std::vector<HookId>& hooks,
                       Taps taps, RunOptions options) {
  Recorder recorder(hooks);
  taps.observers.push_back(&recorder);
  Outcome outcome;
  outcome.result = model.run(batch, taps, options);
  outcome.output = outcome.result.logits.defined() ? outcome.result.logits : outcome.result.hidden;
  outcome.output = outcome.output.cpu();
  for (const HookId hook : hooks) {
    if (recorder.has(hook)) outcome.values[hook] = recorder.value(hook);
  }
  return outcome;
}

at::Tensor row_of(HookId hook, const at::Tensor& value, const Batch& batch, int row) {
  return is_map(hook.site) ? unpadded_map(value, batch, row) : unpadded(value, batch, row);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  // Equal infinities (masked scores) differ by nothing.
  const at::Tensor difference = (a.to(at::kDouble) - b.to(at::kDouble)).abs();
  return at::where(a == b, at::zeros_like(difference), difference).max().item<double>();
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return at::equal(a, b);
}

}  // namespace attnscope::testing
