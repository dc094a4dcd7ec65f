#include "recorder.h"

#include <algorithm>

namespace attnscope {
namespace {

bool is_map(Site site) {
  return site == Site::pattern || site == Site::attn_scores;
}

}  // namespace

Want Recorder::want(HookId hook) const {
  if (!sites_.contains(hook.site)) return Want::nothing();
  return is_map(hook.site) ? Want::all_maps() : Want::whole_value();
}

void Recorder::on_value(HookId hook, const at::Tensor& value, const Batch& batch) {
  values_[hook] = unpadded(value, batch, row_).to(at::kCPU, at::kDouble).clone();
}

// Blocks of queries are laid side by side; those of pads are left out.
void Recorder::on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) {
  const RowSpan span = batch.rows[static_cast<std::size_t>(row_)];
  const std::int64_t begin = std::max<std::int64_t>(0, span.start - rows.q_begin);
  const std::int64_t end =
      std::min<std::int64_t>(rows.values.size(2), span.start + span.length - rows.q_begin);
  if (begin >= end) return;
  const at::Tensor block = rows.values[row_]
                               .slice(1, begin, end)
                               .slice(2, span.start, span.start + span.length)
                               .to(at::kCPU, at::kDouble)
                               .clone();
  at::Tensor& kept = values_[hook];
  kept = kept.defined() ? at::cat({kept, block}, 1) : block;
}

}  // namespace attnscope
