// File: experiment.h
// What every experiment is given and gives back.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/storage/experiment.h"
#include "attnscope/storage/schema.h"
#include "attnscope/support/progress.h"

namespace attnscope {

// What does not belong to the result.
struct ExperimentContext {
  std::vector<std::string> command_line;    // for OUT.json
  const std::atomic<bool>* stop = nullptr;  // set by a signal handler: give up soon
  ProgressListener* progress = nullptr;     // items are cells × prompts
  // Called with the plan in words (cells, cost, memory) before anything is computed.
  std::function<void(const std::string&)> on_plan;
};

// What one of several sweeps will cost.
struct PlannedStage {
  std::string name;
  std::int64_t cells = 0;
  std::int64_t prompts = 0;
  std::int64_t runs = 0;
  double flops = 0;
  std::uint64_t memory_bytes = 0;  // beside the weights
  // What it runs depends on earlier stages: the numbers are the most that it can be.
  enum class Certainty : std::uint8_t { exact, at_most } certainty = Certainty::exact;
};

struct ExperimentResult {
  ExperimentRecord record;                        // empty after a dry run
  std::vector<ExperimentRecord> prompt_records;   // lens: one a prompt, in order
  std::vector<ExperimentRecord> further_records;  // ablate: interactions; patch: further sites
  std::string plan;                               // in words
  std::vector<PlannedStage> stages;               // verdict: the plan in numbers
  std::string path;                               // OUT.h5; empty without -o and after a dry run
  std::string sha256;                             // of OUT.h5
  std::string html;                               // verdict: the report, where one was written
  std::optional<ShardId> part;                    // of a longer run (--shard)
  std::int64_t prompts = 0;
  std::int64_t clusters = 0;
  std::int64_t misaligned = 0;
  std::int64_t cells = 0;
  double seconds = 0;
  double cells_per_second = 0;
  std::string device, dtype, engine, model;
  int threads = 0;
  std::vector<std::string> warnings;
};

}  // namespace attnscope
