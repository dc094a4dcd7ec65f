// File: measure.h
// Measures everything that the rule of verdict_rule.h judges.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/probes/ablation_cells.h"
#include "attnscope/probes/sweep.h"
#include "attnscope/probes/verdict_rule.h"
#include "attnscope/spec/choices.h"

namespace attnscope {

// Units of one model on some prompts.
struct VerdictWorld {
  const Model& model;
  std::vector<UnitSet> units;  // one unit each
  std::vector<SweepPrompt> prompts;
  std::vector<int> clusters;  // [prompt]
  std::vector<Half> halves;   // [cluster]
  bool has_corrupt = false;   // the donors are corrupt twins, not drawn prompts
  int source_set = -1;        // position set of the answer's source; −1 = not known
};

struct MeasureOptions {
  std::vector<AblationMethod> methods;
  SweepSettings sweep;
  int conditions = 5;     // units that are removed first, one by one
  int random_draws = 20;  // random vectors a unit; 0 = none
  int random_units = 20;  // units, the strongest first, that random vectors are drawn for
  int joint_units = 5;    // units that are removed together
  std::optional<double> delta;
};

struct VerdictMeasurement {
  VerdictInput input;  // without the positive control
  double delta = 0;
  SweepResult totals;  // of the first sweep: baselines, noise floor, verification
};

// Total effects of all methods; direct effects; effects given the removal of the units with the
// largest direct effects, of units whose total effect could be none; random vectors for units whose
// effect is some; the joint effect of the strongest; attention. Means of the methods are those of
// the selection half. Throws Error VD10 (exit 2) where δ is neither given nor derivable.
VerdictMeasurement measure_verdict(const VerdictWorld& world, const MeasureOptions& options);

// Attention of every unit on every prompt, over the rows that the metric reads; of a kv group the
// mean of its query heads. Units that are no heads have none.
std::vector<AttentionMeasure> measure_attention(const VerdictWorld& world, Engine engine);

// Whether the verdicts on the known-answer model are those that are true of it.
struct PositiveControl {
  ControlOutcome outcome = ControlOutcome::not_run;
  std::string note;  // what came out wrong
};
PositiveControl run_positive_control(const SweepSettings& sweep, std::uint64_t seed);

}  // namespace attnscope
