#include <algorithm>
#include <string>

#include "attnscope/capture/capture_plan.h"
#include "attnscope/support/text.h"

namespace attnscope {
std::string describe(const CapturePlan& plan) {
  std::int64_t batches = 0;
  for (const ShardPlan& shard : plan.shards) {
    batches += static_cast<std::int64_t>(shard.batches.size());
  }
  std::string text =
      "plan: " + count_of(plan.part.count, "prompt") + ", " + count_of(plan.tokens, "token") +
      ", " + count_of(batches, "batch") + ", " + count_of(plan.shards.size(), "shard") + ", " +
      (plan.layout == FileLayout::packed ? "packed layout, " : "one group a prompt, ") +
      format_number(plan.flop / 1e9, 3) + " GFLOP\n";
  std::size_t width = 0;
  for (const SiteEstimate& site : plan.sites) width = std::max(width, site.site.size());
  for (const SiteEstimate& site : plan.sites) {
    text += "  " + site.site + std::string(width + 2 - site.site.size(), ' ') +
            format_bytes(site.value_bytes) + ", about " + format_bytes(site.disk_bytes) +
            " on disk\n";
  }
  text += "  disk in all about " + format_bytes(plan.disk_bytes) +
          (plan.shards.size() > 1 ? " (shards and their merged copy)" : "") + "\n";
  text += "  memory about " + format_bytes(plan.memory.total()) + ": weights " +
          format_bytes(plan.memory.weights) + ", activations " +
          format_bytes(plan.memory.activations) + ", results on their way " +
          format_bytes(plan.memory.in_flight) + "\n";
  return text;
}

}  // namespace attnscope
