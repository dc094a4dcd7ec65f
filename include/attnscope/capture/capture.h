// File: capture.h
// The whole of `attnscope capture`: from options to OUT.h5 and OUT.json.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attnscope/capture/capture_plan.h"
#include "attnscope/capture/head_summary.h"
#include "attnscope/spec/capture_spec.h"
#include "attnscope/support/progress.h"

namespace attnscope {

// What does not belong to the result.
struct CaptureContext {
  std::vector<std::string> command_line;    // for OUT.json
  const std::atomic<bool>* stop = nullptr;  // set by a signal handler: give up soon
  ProgressListener* progress = nullptr;
  int compressor_threads = 0;  // 0 = by the machine
  PlanLimits limits;
  // Called with the plan before anything is computed or written; may print it.
  std::function<void(const CapturePlan&)> on_plan;
};

struct CaptureResult {
  std::string path;     // OUT.h5; empty after a dry run
  std::string sidecar;  // OUT.json
  std::string sha256;   // of OUT.h5
  std::uint64_t file_bytes = 0;
  CapturePlan plan;                  // its prompts keep their tokens
  std::int64_t prompts_skipped = 0;  // bad lines passed over
  std::int64_t shards_kept = 0;      // committed by an earlier run
  std::int64_t non_finite = 0;       // NaN values stored, and NaN or infinite outputs
  double seconds = 0;                // wall time of the whole capture
  std::string device, dtype, engine;
  std::string engine_reason;  // "asked for", or why `auto` chose it
  int threads = 0;
  HeadSummary heads;  // empty after a dry run
  std::vector<std::string> warnings;
};

// Throws Error with the exit code of its kind; ErrorKind::interrupted after a stop, with all
// committed shards kept. The process must have been set up (core/device.h) before.
CaptureResult run_capture(const CaptureSpec& spec, const CaptureContext& context = {});

// The result as one JSON object, for --json.
std::string to_json(const CaptureResult& result);

}  // namespace attnscope
