// What the sweeps of a verdict will cost.
#include <algorithm>

#include "measure.h"

namespace attnscope {
namespace {

// More than --matched-sets can ask for.
constexpr std::uint64_t kManySets = 1'000'000;

// What a unit becomes costs nothing, so that units are zeroed here whatever the methods are.
class Planner {
 public:
  Planner(const VerdictWorld& world, const MeasureOptions& options)
      : world_(world), options_(options) {
    for (const int p : prompts_of(Half::estimation, world.halves, world.clusters)) {
      estimation_.push_back(world.prompts[static_cast<std::size_t>(p)]);
    }
  }

  std::vector<PlannedStage> plan() const {
    std::vector<PlannedStage> stages = {totals(), conditional()};
    if (options_.random_draws > 0) stages.push_back(random());
    if (first_units(options_.joint_units).size() > 1) stages.push_back(joint());
    return stages;
  }

 private:
  using Certainty = PlannedStage::Certainty;

  Cell cell_of(const std::vector<std::size_t>& units) const {
    Cell cell;
    for (const std::size_t unit : units) {
      for (Edit& edit :
           ablation_edits(world_.units[unit], AblationMethod::zero, {}, world_.model.config())) {
        cell.edits.push_back(std::move(edit));
      }
    }
    return cell;
  }

  // The first `count` units, which are of the first layers: from there the most is run again.
  std::vector<std::size_t> first_units(int count) const {
    std::vector<std::size_t> units;
    for (std::size_t u = 0; u < world_.units.size() && u < static_cast<std::size_t>(count); ++u) {
      units.push_back(u);
    }
    return units;
  }

  // `times`: how often such cells are run, with other values.
  PlannedStage stage(const std::string& name, Certainty certainty, const std::vector<Cell>& cells,
                     const std::vector<SweepPrompt>& prompts, std::size_t times) const {
    PlannedStage planned = {.name = name, .certainty = certainty};
    planned.prompts = static_cast<std::int64_t>(prompts.size());
    if (cells.empty() || prompts.empty()) return planned;
    const SweepPlan plan = plan_sweep(world_.model, cells, prompts, options_.sweep);
    planned.cells = plan.cells * static_cast<std::int64_t>(times);
    planned.runs = plan.runs * static_cast<std::int64_t>(times);
    planned.flops = plan.flops * static_cast<double>(times);
    planned.memory_bytes = plan.memory_bytes;
    return planned;
  }

  PlannedStage totals() const {
    return stage(total_stage(world_), Certainty::exact, singles(), world_.prompts,
                 options_.methods.size());
  }

  PlannedStage conditional() const {
    std::vector<Cell> cells;
    for (const std::size_t given : first_units(options_.conditions)) {
      for (std::size_t u = 0; u < world_.units.size(); ++u) {
        if (u != given) cells.push_back(cell_of({given, u}));
      }
    }
    return stage(conditional_stage(world_), Certainty::at_most, cells, estimation_,
                 options_.methods.size());
  }

  PlannedStage random() const {
    return stage(random_stage(world_), Certainty::at_most, singles(), estimation_,
                 static_cast<std::size_t>(options_.random_draws));
  }

  PlannedStage joint() const {
    const auto wanted = static_cast<std::uint64_t>(options_.matched_sets);
    return stage(joint_stage(world_), Certainty::at_most,
                 {cell_of(first_units(options_.joint_units))}, estimation_,
                 1 + std::min(wanted, most_matched_sets(world_.units.size(), options_)));
  }

  std::vector<Cell> singles() const {
    std::vector<Cell> cells;
    for (std::size_t u = 0; u < world_.units.size(); ++u) cells.push_back(cell_of({u}));
    return cells;
  }

  const VerdictWorld& world_;
  const MeasureOptions& options_;
  std::vector<SweepPrompt> estimation_;
};

}  // namespace

std::uint64_t most_matched_sets(std::size_t units, const MeasureOptions& options) {
  const std::uint64_t chosen =
      std::min<std::uint64_t>(units, static_cast<std::uint64_t>(options.joint_units));
  std::uint64_t sets = 1;  // the binomial coefficient, as far as it matters
  for (std::uint64_t i = 0; i < chosen && sets < kManySets; ++i)
    sets = sets * (units - i) / (i + 1);
  return sets - 1;
}

std::string total_stage(const VerdictWorld& world) {
  return world.label + "effects of every " + world.noun;
}
std::string conditional_stage(const VerdictWorld& world) {
  return world.label + "effects given another removed " + world.noun;
}
std::string random_stage(const VerdictWorld& world) {
  return world.label + "random changes in place of every causal " + world.noun;
}
std::string joint_stage(const VerdictWorld& world) {
  return world.label + "several " + world.noun + "s removed together";
}

std::vector<PlannedStage> plan_verdict(const VerdictWorld& world, const MeasureOptions& options) {
  return Planner(world, options).plan();
}

}  // namespace attnscope
