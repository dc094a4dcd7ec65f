#include "layer_statistics.h"

#include <algorithm>

#include "attention.h"
#include "attnscope/support/error.h"

namespace attnscope {
std::optional<int> wanted_top_k(const HookUsers* users) {
  std::optional<int> top_k;
  if (users == nullptr) return top_k;
  for (const Listener& listener : users->listeners) {
    if (listener.want.statistics) top_k = std::max(top_k.value_or(0), listener.want.top_k);
  }
  return top_k;
}

std::vector<StatisticsShape> statistics_shapes(const Run& run, int layer, int top_k) {
  if (run.shared != nullptr) {
    throw Error(ErrorKind::input, "MO21",
                {.where = hook_name({Site::pattern, layer}),
                 .what = "statistics need whole rows; this run starts behind position 0"});
  }
  const AttentionSpec& spec = run.config.layers[static_cast<std::size_t>(layer)].attention;
  const auto* ids = run.batch.ids.const_data_ptr<std::int64_t>();
  const int length = run.batch.padded_length();
  std::vector<StatisticsShape> shapes;
  for (std::size_t b = 0; b < run.frames.size(); ++b) {
    const RowFrame& frame = run.frames[b];
    const std::int64_t* row = ids + static_cast<std::int64_t>(b) * length + frame.q_start;
    shapes.push_back({.n_heads = spec.n_heads,
                      .n_queries = frame.q_length,
                      .n_keys = frame.k_length,
                      .top_k = top_k,
                      .causal = spec.mask == MaskKind::causal,
                      .ids = std::span(row, static_cast<std::size_t>(frame.q_length)),
                      .window = spec.window});
  }
  return shapes;
}

void give_statistics(const Run& run, const HookUsers& users,
                     std::span<const AttentionStatistics> finished) {
  for (const Listener& listener : users.listeners) {
    if (!listener.want.statistics) continue;
    listener.observer->on_statistics(users.hook, finished, run.batch);
  }
}

LayerStatistics::LayerStatistics(Run& run, int layer, const HookUsers* users)
    : run_(run), layer_(layer), users_(users) {
  const std::optional<int> top_k = wanted_top_k(users_);
  if (!top_k) return;
  for (const StatisticsShape& shape : statistics_shapes(run, layer, *top_k)) {
    rows_.emplace_back(shape);
  }
}

void LayerStatistics::finish(const at::Tensor& v) {
  const at::Tensor norms = value_norms(run_, layer_, v).cpu().contiguous();  // [b h k]
  std::vector<AttentionStatistics> finished;
  for (std::size_t b = 0; b < rows_.size(); ++b) {
    const at::Tensor row = norms.select(0, static_cast<std::int64_t>(b));
    for (std::int64_t head = 0; head < row.size(0); ++head) {
      rows_[b].set_value_norm(static_cast<int>(head), row.select(0, head).const_data_ptr<double>() +
                                                          run_.frames[b].k_start);
    }
    finished.push_back(rows_[b].finish());
  }
  give_statistics(run_, *users_, finished);
}

}  // namespace attnscope
