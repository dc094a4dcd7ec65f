// File: engine_rule.h
// Which attention in tiles can compute a layer: the one place of this rule, for a run that chooses
// layer by layer and for a plan that has seen no tensor yet.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "attnscope/kernels/attention_spec.h"
#include "attnscope/model/run_options.h"

namespace attnscope {

enum class ValueType : std::uint8_t { f32_or_less, f64 };

// What is wanted of one layer's attention, and on what.
struct AttentionDemand {
  c10::Device device = c10::kCPU;
  ValueType value = ValueType::f32_or_less;
  std::int64_t longest = 0;  // queries of the longest row
  bool statistics = false;
  int top_k = 0;         // of the statistics
  bool maps = false;     // of patterns or scores
  bool scores = false;   // maps of scores
  bool changes = false;  // of scores or patterns
  bool gradients = false;
  bool pads_on_left = false;  // of some row
  bool resumed = false;       // some row starts behind position 0
};

// Attention in tiles on this device: cpu_tiled or cuda.
Engine tiles_on(c10::Device device);

// Why `engine`, one of those two, cannot do it; empty when it can.
std::string tile_obstacle(Engine engine, const AttentionSpec& spec, const AttentionDemand& demand);

// Why LibTorch's fused pass cannot compute a layer, whatever is wanted of it; empty when it can.
std::string fusion_obstacle(const AttentionSpec& spec);

// The same for what is wanted of it.
std::string fusion_obstacle(const AttentionSpec& spec, const AttentionDemand& demand);

// Throws Error (input, MO20) if `engine`, which was asked for, cannot compute a layer.
void require_engine(Engine engine, int layer, const AttentionSpec& spec,
                    const AttentionDemand& demand);

}  // namespace attnscope
