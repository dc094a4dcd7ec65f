#include "row_facts.h"

#include <algorithm>
#include <cmath>

namespace attnscope::storage_detail {

RowFacts::RowFacts(const CaptureReader& reader, int prompt, Stack stack) {
  if (!reader.has_table(prompt, stack, AttentionTable::row_stats)) return;
  const StoredAttention about = reader.attention(prompt, stack);
  const Array table = reader.read_table(prompt, stack, AttentionTable::row_stats);
  if (table.shape.size() != 4 || table.shape[0] != std::ssize(about.layers) ||
      table.shape[3] != std::ssize(about.row_stats)) {
    return;
  }
  const auto column = [&about](const char* name) -> std::ptrdiff_t {
    const auto found = std::find(about.row_stats.begin(), about.row_stats.end(), name);
    return found == about.row_stats.end() ? -1 : found - about.row_stats.begin();
  };
  layers_ = about.layers;
  shape_ = table.shape;
  values_ = table.as_float();
  lse_ = column("lse");
  sink_ = column("learned_sink");
}

std::optional<double> RowFacts::value(std::ptrdiff_t column, int layer, std::int64_t head,
                                      std::int64_t query) const {
  const auto found = std::find(layers_.begin(), layers_.end(), layer);
  if (column < 0 || found == layers_.end() || head < 0 || head >= shape_[1] || query < 0 ||
      query >= shape_[2]) {
    return std::nullopt;
  }
  const std::int64_t slot = found - layers_.begin();
  const std::int64_t index = ((slot * shape_[1] + head) * shape_[2] + query) * shape_[3] + column;
  return values_[static_cast<std::size_t>(index)];
}

std::optional<double> RowFacts::sink(int layer, std::int64_t head, std::int64_t query) const {
  return value(sink_, layer, head, query);
}

bool RowFacts::is_nan(int layer, std::int64_t head, std::int64_t query) const {
  const auto lse = value(lse_, layer, head, query);
  return lse && std::isnan(*lse);
}

}  // namespace attnscope::storage_detail
