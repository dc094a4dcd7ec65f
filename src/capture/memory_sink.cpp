#include "attnscope/capture/memory_sink.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace attnscope {
namespace {

// The tensor kept for `hook`, made anew when the shape or type is another.
at::Tensor& room_for(std::map<HookId, at::Tensor>& values, HookId hook, at::IntArrayRef shape,
                     const at::TensorOptions& options) {
  at::Tensor& kept = values[hook];
  const bool fits = kept.defined() && kept.sizes() == shape && kept.dtype() == options.dtype() &&
                    kept.device() == options.device();
  if (!fits) kept = at::empty(shape, options);
  return kept;
}

}  // namespace

MemorySink::MemorySink(std::vector<HookId> hooks, Statistics statistics)
    : hooks_(std::move(hooks)), statistics_wanted_(statistics) {
  std::sort(hooks_.begin(), hooks_.end());
}

MemorySink::MemorySink(const std::set<HookId>& hooks)
    : MemorySink({hooks.begin(), hooks.end()}, Statistics::off) {}

Want MemorySink::want(HookId hook) const {
  Want want;
  const bool kept = std::binary_search(hooks_.begin(), hooks_.end(), hook);
  const bool pattern = hook.site == Site::pattern;
  if (kept && (pattern || hook.site == Site::attn_scores)) {
    want.maps = true;
  } else {
    want.value = kept;
  }
  want.statistics = pattern && statistics_wanted_ == Statistics::on;
  return want;
}

void MemorySink::on_value(HookId hook, const at::Tensor& value, const Batch&) {
  room_for(values_, hook, value.sizes(), value.options().requires_grad(false)).copy_(value);
}

void MemorySink::on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) {
  const at::Tensor& block = rows.values;
  const std::int64_t queries = batch.padded_length();
  at::Tensor& kept = room_for(values_, hook, {block.size(0), block.size(1), queries, block.size(3)},
                              block.options().requires_grad(false));
  kept.narrow(2, rows.q_begin, block.size(2)).copy_(block);
}

void MemorySink::on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                               const Batch&) {
  statistics_[hook].assign(rows.begin(), rows.end());
}

MemoryCapture capture_to_memory(const Model& model, const Batch& batch, std::string_view hooks,
                                const RunOptions& options) {
  MemorySink sink(select_hooks(hooks, model.sites(), "hooks"), MemorySink::Statistics::on);
  Taps taps;
  taps.observers.push_back(&sink);
  RunResult result = model.run(batch, taps, options);
  return {sink.values(), sink.statistics(), std::move(result)};
}

}  // namespace attnscope
