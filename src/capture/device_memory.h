// File: device_memory.h
// Whether a capture fits into a GPU's memory, and what would. The plan does not depend on it: it
// only refuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/capture/capture_plan.h"
#include "attnscope/model/run_options.h"
#include "attnscope/support/error.h"
#include "attnscope/support/free_memory.h"

namespace attnscope {

// Prompts that run together, and tokens of the longest.
struct BatchSize {
  std::int64_t rows = 0;
  std::int64_t length = 0;
};

// A run on a GPU. References must outlive it.
class DeviceMemory {
 public:
  // `free` before anything is loaded; nothing where it is not known.
  DeviceMemory(const ModelConfig& config, const CaptureSpec& spec, const CapturePlan& plan,
               Engine engine, std::optional<FreeMemory> free);

  // Weights, activations and results that wait for the host.
  std::uint64_t bytes(BatchSize batch) const;
  // "up to 4096 tokens a prompt would fit, or --batch 3": what else than `batch` would.
  std::string what_would_fit(BatchSize batch) const;
  // Throws Error (limit, CA22) if the largest batch of the plan does not fit.
  void expect_fits() const;
  // An error of memory that ran out while `batch` ran, as one that says what would fit; others as
  // they are.
  [[noreturn]] void rethrow(const Error& error, BatchSize batch) const;

 private:
  bool fits(BatchSize batch) const { return bytes(batch) <= free_->bytes; }
  BatchSize largest_batch() const;

  const ModelConfig& config_;
  const CaptureSpec& spec_;
  const CapturePlan& plan_;
  Engine engine_;
  std::optional<FreeMemory> free_;
};

// Size of one planned batch.
BatchSize size_of(const CapturePlan& plan, const BatchPlan& batch);

}  // namespace attnscope
