// File: path.h
// Path patching (Wang et al. 2022): what a sender says to chosen receivers along direct paths.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/probes/sweep.h"
#include "attnscope/sites/units.h"

namespace attnscope {

enum class FrozenMlps : std::uint8_t { off, on };

struct PathOptions {
  MetricChoice metric = MetricChoice::logit_diff;
  Engine engine = Engine::automatic;
  FrozenMlps mlps = FrozenMlps::off;  // MLPs between sender and receiver keep their clean values
  const std::atomic<bool>* stop = nullptr;
};

struct PathEffects {
  std::vector<double> effects;   // [sender prompt] M(D) − M(B)
  std::vector<double> baseline;  // [prompt] M(B)
  // Largest |M(D) − M(B)| where the first sender sends what it puts out in B: passes C and D
  // without a change.
  double own_value_difference = 0;
};

// Throws Error (exit 2): PT11 `logits` together with other receivers; PT12 a sender that precedes
// no receiver; PT13 a unit that cannot send.
void check_paths(const ModelConfig& config, const std::vector<UnitSet>& senders,
                 const std::vector<ReceiverId>& receivers);

// The four passes, for every sender (heads and MLPs, sets of them) into all receivers at once:
//   A  the donor runs; what the sender puts out is kept
//   B  the prompt runs; everything is kept
//   C  the prompt runs with the sender's output from A and every head's q, k and v from B; what
//      would reach the receivers is kept; MLPs and norms are computed anew unless frozen
//   D  the prompt runs with the receivers' inputs from C; everything behind them is computed anew
// With the receiver `logits` C's own logits are the result. A receiver `mlp` is what its first
// matrix puts out. Throws what check_paths() does, and Error PT10 (exit 2) of a sender that is the
// same in both runs, on every prompt.
PathEffects path_effects(const Model& model, const std::vector<UnitSet>& senders,
                         const std::vector<ReceiverId>& receivers,
                         const std::vector<SweepPrompt>& prompts, const PathOptions& options);

}  // namespace attnscope
