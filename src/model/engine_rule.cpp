#include "attnscope/model/engine_rule.h"

#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

std::string cuda_obstacle(const AttentionSpec& spec, const AttentionDemand& demand) {
  if (!cuda_passes_read(demand.device.is_cpu() ? MemoryPlace::host : MemoryPlace::device)) {
    return demand.device.is_cpu() ? "the CUDA kernels run on a GPU (--device cuda)"
                                  : "this attnscope was built without CUDA kernels";
  }
  if (demand.value == ValueType::f64) return "float64 is wanted";
  if (demand.resumed && (demand.statistics || demand.maps)) return "rows start behind position 0";
  if (demand.longest > kCudaMaxQueries) return "a prompt is longer than the CUDA kernels take";
  if (spec.d_head > kCudaMaxHead) return "heads are wider than the CUDA kernels take";
  if (demand.statistics && demand.top_k > kCudaMaxTopK) {
    return "more than " + std::to_string(kCudaMaxTopK) + " top keys are wanted";
  }
  return "";
}

// Why neither tiles nor LibTorch's fused pass can; empty when nothing stands in the way of both.
std::string common_obstacle(const AttentionSpec& spec, const AttentionDemand& demand) {
  if (demand.changes) return "scores or pattern are changed";
  if (spec.softmax_mix != 1) return "the pattern is mixed with a constant";
  if (demand.gradients) return "gradients are wanted";
  return "";
}

// Why an engine cannot do what is asked of it; empty when it can.
std::string obstacle_to(Engine engine, const AttentionSpec& spec, const AttentionDemand& demand) {
  switch (engine) {
    case Engine::cpu_tiled:
    case Engine::cuda:
      return tile_obstacle(engine, spec, demand);
    case Engine::aten:
      return fusion_obstacle(spec, demand);
    case Engine::automatic:
    case Engine::reference:
      break;
  }
  return "";
}

}  // namespace

Engine tiles_on(c10::Device device) {
  return device.is_cpu() ? Engine::cpu_tiled : Engine::cuda;
}

std::string tile_obstacle(Engine engine, const AttentionSpec& spec, const AttentionDemand& demand) {
  if (engine == Engine::cpu_tiled && !demand.device.is_cpu()) {
    return "tiles of cpu_tiled are computed on the CPU";
  }
  if (engine == Engine::cuda) {
    const std::string obstacle = cuda_obstacle(spec, demand);
    if (!obstacle.empty()) return obstacle;
  }
  if (demand.scores) return "scores are wanted";
  // Blocks of maps count the slots of the batch, tiles the tokens of a row.
  if (demand.maps && demand.pads_on_left) return "maps of rows with pads on the left are wanted";
  return common_obstacle(spec, demand);
}

std::string fusion_obstacle(const AttentionSpec& spec) {
  if (spec.softcap != 0) return "the scores are soft-capped";
  if (spec.learned_sink) return "the softmax has a learned sink";
  return "";
}

std::string fusion_obstacle(const AttentionSpec& spec, const AttentionDemand& demand) {
  const std::string obstacle = fusion_obstacle(spec);
  return obstacle.empty() ? common_obstacle(spec, demand) : obstacle;
}

void require_engine(Engine engine, int layer, const AttentionSpec& spec,
                    const AttentionDemand& demand) {
  const std::string obstacle = obstacle_to(engine, spec, demand);
  if (obstacle.empty()) return;
  throw Error(ErrorKind::input, "MO20",
              {.where = std::string("--engine ") + engine_name(engine),
               .what = "layer " + std::to_string(layer) + " cannot be computed so: " + obstacle,
               .next = "use --engine auto or reference"});
}

}  // namespace attnscope
