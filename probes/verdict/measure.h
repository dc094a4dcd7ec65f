// File: measure.h
// Measures everything that the rule of verdict_rule.h judges.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/probes/ablation_cells.h"
#include "attnscope/probes/experiment.h"
#include "attnscope/probes/sweep.h"
#include "attnscope/probes/verdict_rule.h"
#include "attnscope/spec/choices.h"
#include "stages.h"

namespace attnscope {

// Units of one model on some prompts.
struct VerdictWorld {
  const Model& model;
  std::string noun = "head";   // what a unit is, in sentences
  std::string label;           // before the names of its stages
  std::vector<UnitSet> units;  // one unit each
  std::vector<SweepPrompt> prompts;
  std::vector<int> clusters;        // [prompt]
  std::vector<std::string> places;  // [prompt] where it stands, for messages; may be empty
  std::vector<Half> halves;         // [cluster]
  bool has_corrupt = false;         // the donors are corrupt twins, not drawn prompts
  int source_set = -1;              // position set of the answer's source; −1 = not known
};

struct MeasureOptions {
  std::vector<AblationMethod> methods;
  SweepSettings sweep;
  int conditions = 5;     // units that are removed first, one by one
  int random_draws = 20;  // random vectors for each unit that comes out causal; 0 = none
  int joint_units = 5;    // units that are removed together; fewer than 2 = none
  int matched_sets = 20;  // random sets that look like them, at most; 0 = none
  std::optional<double> delta;
  int resamples = 10000;     // of the estimates; their seed and threads are the sweep's
  Stages* stages = nullptr;  // null: sweeps keep no shards
};

struct VerdictMeasurement {
  VerdictInput input;  // without the positive control
  TotalEstimates estimates;
  double delta = 0;
  SweepResult totals;  // of the first sweep: baselines, noise floor, verification
};

// Attention; total effects of all methods; direct effects; effects given the removal of the units
// with the largest direct effects, of units whose total effect could be none; random vectors for
// the units that come out causal; the joint effect of the strongest, and of random sets that look
// like them. Means of the methods are those of the selection half. Throws Error (exit 2) where δ is
// neither given nor derivable: VD13 where the metric is NaN or infinite, else VD10.
VerdictMeasurement measure_verdict(const VerdictWorld& world, const MeasureOptions& options);

// The names of its stages, in their order.
std::string total_stage(const VerdictWorld& world);
std::string conditional_stage(const VerdictWorld& world);
std::string random_stage(const VerdictWorld& world);
std::string joint_stage(const VerdictWorld& world);

// How many sets of other units there can be that are as large as the one removed together, up to
// more than --matched-sets can ask for.
std::uint64_t most_matched_sets(std::size_t units, const MeasureOptions& options);

// What its sweeps will cost. What depends on results is the most that it can be.
std::vector<PlannedStage> plan_verdict(const VerdictWorld& world, const MeasureOptions& options);

// What attention shows of every unit over the rows that the metric reads; of a kv group the mean of
// its query heads.
struct UnitAttention {
  std::vector<AttentionMeasure> measures;  // on every prompt
  // [unit, 3] log of the norm of the output, entropy, mass on the first token: means over the
  // selection half. Sets of units that are alike in these look alike.
  std::vector<double> traits;
};
inline constexpr std::size_t kTraits = 3;
UnitAttention measure_attention(const VerdictWorld& world, Engine engine);

// Whether the verdicts on the known-answer model are those that are true of it.
struct PositiveControl {
  ControlOutcome outcome = ControlOutcome::not_run;
  std::string note;  // what came out wrong
};
PositiveControl run_positive_control(const SweepSettings& sweep, std::uint64_t seed);

}  // namespace attnscope
