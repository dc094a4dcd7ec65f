// File: capture_record.h
// What a capture's file and OUT.json say about the run.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "attnscope/capture/capture.h"
#include "attnscope/capture/provenance.h"
#include "attnscope/data/prompt_reader.h"

namespace attnscope {

// The engine of a capture, and why.
struct EngineDecision {
  EngineChoice engine = EngineChoice::automatic;
  std::string reason;  // "asked for", "statistics are wanted"
};
EngineDecision decide_engine(const CaptureSpec& spec, const ModelConfig& config,
                             const CapturePlan& plan, c10::Device device);
// Throws what the run would (input, MO20) if `engine` cannot compute some layer, before weights are
// read.
void require_engine(EngineChoice engine, const CaptureSpec& spec, const ModelConfig& config,
                    const CapturePlan& plan, c10::Device device);

// The spec with every "auto" replaced by what it became.
CaptureSpec resolve(const CaptureSpec& spec, const CapturePlan& plan, EngineChoice engine,
                    const std::string& device, int threads);

// The text of OUT.json.
std::string sidecar_of(const CaptureSpec& resolved, const CaptureResult& result,
                       const InputHashes& hashes, const CaptureContext& context,
                       const std::vector<SkippedLine>& skipped, const RunTimes& times);

}  // namespace attnscope
