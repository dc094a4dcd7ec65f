#include "attnscope/model/engine_rule.h"

#include "attnscope/kernels/cuda_statistics.h"

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

std::string common_obstacle(const AttentionSpec& spec, const AttentionDemand& demand) {
  if (demand.changes) return "scores or pattern are changed";
  if (spec.softmax_mix != 1) return "the pattern is mixed with a constant";
  if (demand.gradients) return "gradients are wanted";
  return "";
}

}  // namespace attnscope
