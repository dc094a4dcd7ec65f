#include "recorder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attnscope::testing {

Want Recorder::want(HookId hook) const {
  const bool map = hook.site == Site::attn_scores || hook.site == Site::pattern;
  Want want;
  if (sites_.empty() || sites_.contains(hook.site)) {
    want.value = !map;
    want.maps = map;
    want.heads = map ? heads : std::vector<int>{};
  }
  want.statistics = statistics_wanted && hook.site == Site::pattern;
  return want;
}

void Recorder::on_value(HookId hook, const at::Tensor& value, const Batch&) {
  values_[hook] = {value.clone()};
}

void Recorder::on_map_rows(HookId hook, const MapRows& rows, const Batch&) {
  if (rows.q_begin == 0) values_[hook].clear();
  values_[hook].push_back(rows.values.clone());
}

void Recorder::on_statistics(HookId hook, std::span<const AttentionStatistics> rows, const Batch&) {
  statistics_[hook.layer] = {rows.begin(), rows.end()};
}

at::Tensor Recorder::value(HookId hook) const {
  const std::vector<at::Tensor>& parts = values_.at(hook);
  const at::Tensor whole = parts.size() == 1 ? parts[0] : at::cat(parts, 2);
  return whole.cpu().to(at::kDouble);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  if (a.sizes() != b.sizes()) return INFINITY;
  return (a.cpu().to(at::kDouble) - b.cpu().to(at::kDouble)).abs().max().item<double>();
}

}  // namespace attnscope::testing
