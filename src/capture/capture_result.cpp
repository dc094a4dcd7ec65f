#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/capture/capture.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr int kTopHeads = 5;

json sites_to_json(const CapturePlan& plan) {
  json sites = json::array();
  for (const SiteEstimate& site : plan.sites) {
    sites.push_back({{"site", site.site},
                     {"value_bytes", site.value_bytes},
                     {"disk_bytes_estimate", site.disk_bytes}});
  }
  return sites;
}

json heads_to_json(const HeadSummary& heads) {
  json table;
  for (const HeadStat stat :
       {HeadStat::induction, HeadStat::previous, HeadStat::duplicate, HeadStat::entropy}) {
    json list = json::array();
    for (const LeadingHead& head : heads.top(stat, kTopHeads)) {
      list.push_back({{"head", head_name(head.head)}, {"value", head.value}});
    }
    table[std::string(head_stat_name(stat))] = std::move(list);
  }
  return table;
}

}  // namespace

std::string to_json(const CaptureResult& result) {
  json document;
  document["out"] = result.path;
  document["sidecar"] = result.sidecar;
  document["sha256"] = result.sha256;
  document["file_bytes"] = result.file_bytes;
  document["prompts"] = result.plan.part.count;
  document["prompts_skipped"] = result.prompts_skipped;
  document["tokens"] = result.plan.tokens;
  document["shards"] = result.plan.shards.size();
  document["shards_kept"] = result.shards_kept;
  document["layout"] = result.plan.layout == FileLayout::packed ? "packed" : "prompts";
  document["flop"] = result.plan.flop;
  document["sites"] = sites_to_json(result.plan);
  document["disk_bytes_estimate"] = result.plan.disk_bytes;
  document["memory_bytes_estimate"] = result.plan.memory.total();
  document["non_finite"] = result.non_finite;
  document["seconds"] = result.seconds;
  document["device"] = result.device;
  document["dtype"] = result.dtype;
  document["engine"] = result.engine;
  document["engine_reason"] = result.engine_reason;
  document["threads"] = result.threads;
  if (!result.heads.empty()) document["top_heads"] = heads_to_json(result.heads);
  document["warnings"] = result.warnings;
  return document.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace attnscope
