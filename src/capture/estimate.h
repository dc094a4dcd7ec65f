// File: estimate.h
// Work, memory and bytes of a capture, from the configuration alone.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/capture/capture_plan.h"
#include "attnscope/model/run_options.h"

namespace attnscope {

// Whether values of a site are kept, of whatever layer.
bool keeps(const CapturePlan& plan, Site site);

// Floating-point operations of one prompt of `tokens` tokens, attention maps in full. The plan's
// hooks and layers must be chosen.
double forward_flop(const ModelConfig& config, const CapturePlan& plan, std::int64_t tokens);

// How one stored map is described, whatever its prompt.
MapSpec map_spec(const ModelConfig& config, const HookPlan& hook, const CaptureSpec& spec,
                 std::int64_t tokens, const std::vector<int>& positions);

// Values along the axes of a site other than positions: z has heads × d_head.
std::int64_t values_per_position(const ModelConfig& config, const HookPlan& hook);

// Bytes of the values that one prompt adds to the file for this hook.
std::uint64_t hook_bytes(const ModelConfig& config, const HookPlan& hook, const CaptureSpec& spec,
                         std::int64_t tokens, const std::vector<int>& positions);

// Bytes of all values that prompt `prompt` of the plan adds to the file: sites, pyramids, tables.
// The plan's prompts, positions, hooks and tables must be chosen.
std::uint64_t prompt_bytes(const ModelConfig& config, const CaptureSpec& spec,
                           const CapturePlan& plan, std::size_t prompt);

// Activations that live at once in a batch of `rows` prompts of `length` tokens: a few copies of
// the residual, one layer's projections and MLP, its attention, and the logits where they are kept.
// The plan's hooks must be chosen.
std::uint64_t activation_bytes(const ModelConfig& config, const CaptureSpec& spec,
                               const CapturePlan& plan, Engine engine, std::int64_t rows,
                               std::int64_t length);

// Fills tokens, flop, sites, disk_bytes and memory of a plan that is complete otherwise.
void estimate(const ModelConfig& config, const CaptureSpec& spec, CapturePlan& plan);

// Compressed results that may wait for the writer, and results of the packed layout that wait for
// their turn.
inline constexpr std::uint64_t kInFlightBytes = std::uint64_t{64} << 20;

}  // namespace attnscope
