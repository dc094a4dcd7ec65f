// File: capture_plan.h
// What a capture will compute and write, from the model's configuration, the prompts and the
// options alone: never from free memory or from what is left to do, so that a rerun repeats it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/data/encoded_prompt.h"
#include "attnscope/sites/site.h"
#include "attnscope/spec/capture_spec.h"
#include "attnscope/storage/output.h"
#include "attnscope/storage/schema.h"

namespace attnscope {

// Where the plan cuts. Other values give other files: they are changed in tests and measurements
// only.
struct PlanLimits {
  std::int64_t batch_tokens = 2048;  // of a batch, pads included; one prompt may be longer
  // Of a shard, so that a stopped run has lost little; one prompt may be more.
  double shard_flop = 2e12;                              // planned work
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;  // planned values, before compression
};

// One hook that is kept.
struct HookPlan {
  HookId hook;
  std::vector<int> heads;  // query heads, or kv heads at sites with g; empty = all or no such axis
  bool map = false;        // scores or pattern
};

// Prompts that run together, as indices into CapturePlan::prompts.
struct BatchPlan {
  std::vector<int> prompts;
};

struct ShardPlan {
  ShardRange range;                // consecutive prompts
  std::vector<BatchPlan> batches;  // in the order they run; may hold prompts of other parts too
};

// Bytes of one site over all prompts.
struct SiteEstimate {
  std::string site;               // "attn.hook_pattern", "statistics", "pyramid"
  std::uint64_t value_bytes = 0;  // exact size of the values that are written, before compression
  std::uint64_t disk_bytes = 0;   // expected after compression
};

struct MemoryEstimate {
  std::uint64_t weights = 0;
  std::uint64_t activations = 0;  // of the largest batch
  std::uint64_t in_flight = 0;    // results on their way to the file
  std::uint64_t total() const { return weights + activations + in_flight; }
};

struct CapturePlan {
  std::vector<EncodedPrompt> prompts;       // of every part (--shard)
  ShardRange part;                          // those of this run
  std::vector<std::vector<int>> positions;  // one list a prompt; empty lists = all positions
  FileLayout layout = FileLayout::per_prompt;
  bool all_tables = true;       // every table of statistics, not head_stats alone
  std::vector<HookPlan> hooks;  // in forward order
  std::vector<int> statistics_layers;
  int layers_computed = 0;        // nothing of later layers is wanted
  std::vector<ShardPlan> shards;  // of this run's part

  std::int64_t tokens = 0;
  double flop = 0;
  std::vector<SiteEstimate> sites;  // largest first
  std::uint64_t disk_bytes = 0;     // largest use of the disk during the run, with the merge's copy
  MemoryEstimate memory;
};

// Throws Error: exit 2 for selectors that match nothing, ids outside the vocabulary and prompts
// longer than the context (both numbers named; allowed with beyond_context where positions are not
// learned); exit 4 when a budget is set and the estimate is above it, naming the largest site and
// what would make it smaller.
CapturePlan plan_capture(const ModelConfig& config, std::vector<EncodedPrompt> prompts,
                         const CaptureSpec& spec, const PlanLimits& limits = {});

// The plan as a person reads it: prompts, batches, shards, bytes a site, memory.
std::string describe(const CapturePlan& plan);

}  // namespace attnscope
