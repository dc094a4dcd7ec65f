// File: plan.h
// How a sweep is cut into work: which cells enter where, which prompts run together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attnscope/probes/sweep.h"
#include "base_run.h"

namespace attnscope {

// How a cell runs.
enum class Route : std::uint8_t {
  block,  // all positions from `point` on, edits as interventions
  wave,   // one position changes: the suffix from there, from layer `enters` on
};

struct CellRoute {
  Route route = Route::block;
  ResumePoint point;    // the earliest place that an edit changes
  bool tapped = false;  // some edit is not made on the input of the run itself
  int position = -1;    // wave: the position that changes
  int enters = 0;       // wave: the first layer that reads the change
  int variant = -1;     // wave: index into SweepWork::variants
};

// Cells that differ in their position only: computed for all positions at once as far as positions
// do not mix.
struct Variant {
  ResumePoint point;
  std::vector<Edit> edits;  // with q_positions cleared: all positions
};

inline constexpr int kUntouchedCell = -1;
inline constexpr int kPadCell = -2;  // a row that nobody reads (equal_rows.h)

// One row of a batch: an edited prompt, or an untouched one.
struct RowRef {
  int prompt = 0;  // place in the chunk
  int cell = -1;
};

// One batch. Cells that enter at `point` run from there; those of later layers join when the batch
// comes to theirs, as copies of their prompt's untouched row.
struct BlockItem {
  ResumePoint point;
  std::vector<RowRef> rows;  // by layer of entry
};

// Cells that change one of the positions [first, end); their rows run from `first` on.
struct WaveItem {
  int first = 0;
  std::vector<RowRef> rows;  // by layer of entry
};

// Prompts of one length, and the cells that exist on them.
struct Chunk {
  std::vector<int> prompts;
  int length = 0;
  std::vector<BlockItem> blocks;
  std::vector<WaveItem> waves;
  double flops = 0;
};

struct SweepWork {
  std::vector<CellRoute> routes;  // by cell
  std::vector<Variant> variants;
  BaseNeeds needs;
  std::vector<Chunk> chunks;
  double naive_flops = 0;
  std::uint64_t memory_bytes = 0;
};

// Throws Error SW0n (exit 2) for edits that the model or a prompt does not allow.
SweepWork plan_work(const Model& model, const std::vector<Cell>& cells,
                    const std::vector<SweepPrompt>& prompts, const SweepSettings& settings);

// Whether a prompt has all that a cell changes: its positions lie in the prompt, and the sets that
// it names are not empty there.
bool exists_on(const Cell& cell, const SweepPrompt& prompt);

// The last position whose logits are read.
int last_read(const SweepPrompt& prompt);

// Whether every layer masks later positions.
bool is_causal(const ModelConfig& config);

}  // namespace attnscope
