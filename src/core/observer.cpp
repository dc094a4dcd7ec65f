#include "attnscope/core/taps.h"

namespace attnscope {

// An observer overrides what it asks for; the rest is never called.
void Observer::on_value(HookId, const at::Tensor&, const Batch&) {}
void Observer::on_map_rows(HookId, const MapRows&, const Batch&) {}
void Observer::on_statistics(HookId, std::span<const AttentionStatistics>, const Batch&) {}

}  // namespace attnscope
