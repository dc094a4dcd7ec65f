#include "capture_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/capture/run_choices.h"
#include "attnscope/model/engine_rule.h"
#include "attnscope/spec/spec_json.h"
#include "estimate.h"

namespace attnscope {

namespace {

AttentionDemand demand_of(const CaptureSpec& spec, const CapturePlan& plan, c10::Device device) {
  AttentionDemand demand;
  demand.device = device;
  if (spec.compute.dtype == ComputeDType::f64) demand.value = ValueType::f64;
  for (const EncodedPrompt& prompt : plan.prompts) {
    demand.longest = std::max(demand.longest, static_cast<std::int64_t>(prompt.size()));
  }
  demand.statistics = true;
  demand.top_k = spec.top_k;
  demand.scores = keeps(plan, Site::attn_scores);
  demand.maps = demand.scores || keeps(plan, Site::pattern);
  return demand;
}

}  // namespace

// Statistics of every head are kept, so LibTorch's fused pass is never enough.
EngineDecision decide_engine(const CaptureSpec& spec, const ModelConfig& config,
                             const CapturePlan& plan, c10::Device device) {
  if (spec.compute.engine != EngineChoice::automatic) return {spec.compute.engine, "asked for"};
  const AttentionDemand demand = demand_of(spec, plan, device);
  const Engine tiles = tiles_on(device);
  for (const LayerConfig& layer : config.layers) {
    const std::string obstacle = tile_obstacle(tiles, layer.attention, demand);
    if (!obstacle.empty()) return {EngineChoice::reference, obstacle};
  }
  return {tiles == Engine::cuda ? EngineChoice::cuda : EngineChoice::cpu_tiled,
          "statistics are wanted"};
}

void require_engine(EngineChoice engine, const CaptureSpec& spec, const ModelConfig& config,
                    const CapturePlan& plan, c10::Device device) {
  const AttentionDemand demand = demand_of(spec, plan, device);
  for (int l = 0; l < plan.layers_computed; ++l) {
    const LayerConfig& layer = config.layers[static_cast<std::size_t>(l)];
    require_engine(engine_of(engine), l, layer.attention, demand);
  }
}

CaptureSpec resolve(const CaptureSpec& spec, const CapturePlan& plan, EngineChoice engine,
                    const std::string& device, int threads) {
  CaptureSpec resolved = spec;
  resolved.compute.device = device;
  resolved.compute.threads = threads;
  resolved.compute.engine = engine;
  const bool packed = plan.layout == FileLayout::packed;
  resolved.layout = packed ? LayoutChoice::packed : LayoutChoice::prompts;
  if (spec.hooks.empty() && !plan.hooks.empty()) resolved.hooks = "pattern";
  return resolved;
}

std::string sidecar_of(const CaptureSpec& resolved, const CaptureResult& result,
                       const InputHashes& hashes, const CaptureContext& context,
                       const std::vector<SkippedLine>& skipped, const RunTimes& times) {
  nlohmann::json more;
  more["prompts"] = result.plan.part.count;
  more["tokens"] = result.plan.tokens;
  more["shards"] = result.plan.shards.size();
  more["shards_kept"] = result.shards_kept;
  more["non_finite"] = result.non_finite;
  more["engine_reason"] = result.engine_reason;
  more["skipped_lines"] = nlohmann::json::array();
  for (const SkippedLine& line : skipped) {
    more["skipped_lines"].push_back({{"line", line.line}, {"reason", line.reason}});
  }
  return sidecar_json({.kind = FileKind::capture,
                       .sha256 = result.sha256,
                       .file_bytes = result.file_bytes,
                       .options_json = resolved_options_json(resolved),
                       .command_line = context.command_line,
                       .times = times,
                       .seconds = result.seconds,
                       .model = resolved.model,
                       .input_key = "prompts_file",
                       .input_path = resolved.prompts.prompts_file,
                       .hashes = hashes,
                       .warnings = result.warnings,
                       .more_json = more.dump()});
}

}  // namespace attnscope
