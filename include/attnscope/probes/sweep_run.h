// File: sweep_run.h
// From the pairs of an experiment to the prompts of a sweep, and from a sweep's numbers to the
// record of the experiment. Shared by ablate, patch and verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/probes/experiment_run.h"
#include "attnscope/probes/sweep.h"
#include "attnscope/sites/units.h"

namespace attnscope {

// The prompt that runs; denoising experiments run the corrupt one.
enum class BaseSide : std::uint8_t { clean, corrupt };

struct SweepPromptOptions {
  MetricOptions metric;
  BaseSide base = BaseSide::clean;
};

// One prompt a pair; the other side, where a pair has one, is its first donor. Throws Error (exit
// 2) for positions of --at that a prompt lacks.
std::vector<SweepPrompt> sweep_prompts(const ExperimentInputs& inputs,
                                       const SweepPromptOptions& options);

std::vector<int> clusters_of(const PairSet& pairs);

UnitSizes unit_sizes(const ModelConfig& config, const PairSet& pairs);

// Throws Error PX02 (exit 2): of `count` things, each a `noun`, part `shard` has none.
[[noreturn]] void fail_empty_part(std::size_t count, const char* noun, const ShardChoice& shard);

// The items of part `shard` of a list; an empty part is an error. Each item is a `noun`.
template <typename Item>
std::vector<Item> part_of_list(const std::vector<Item>& list, const ShardChoice& shard,
                               const char* noun) {
  const auto count = static_cast<std::ptrdiff_t>(list.size());
  if (count * (shard.index - 1) / shard.count == count * shard.index / shard.count) {
    fail_empty_part(list.size(), noun, shard);
  }
  return {list.begin() + count * (shard.index - 1) / shard.count,
          list.begin() + count * shard.index / shard.count};
}

// Which part of a run this is; nothing for a whole one.
inline std::optional<ShardId> part_of_run(const ShardChoice& shard) {
  if (shard.count == 1) return std::nullopt;
  return ShardId{shard.index - 1, shard.count};
}

// Parts always store the effects on each prompt, of which a merge estimates anew.
inline bool stores_per_prompt(const SweepOptions& sweep, const ShardChoice& shard) {
  return sweep.per_prompt || shard.count > 1;
}

// Settings of a sweep as the options say; mode, verification, threads, seed, budget.
SweepSettings sweep_settings(const MetricOptions& metric, const SweepOptions& sweep,
                             const ComputeOptions& compute, const ExperimentContext& context);

// "270 cells × 100 prompts = 27,000 runs; 178 TFLOP, 2.6 × less than one full run a cell; …"
std::string describe(const SweepPlan& plan);

// Keeps shards of a sweep in an experiment's output; `first` is the place of its shard 0 among the
// output's shards.
class OutputStore final : public SweepStore {
 public:
  OutputStore(SweepOutput& output, int first) : output_(output), first_(first) {}
  // Of a sweep whose shards become known when it begins.
  OutputStore(SweepOutput& output, SweepStage stage) : output_(output), stage_(std::move(stage)) {}
  void begin(int shards) override {
    if (stage_) first_ = output_.begin_stage(*stage_, shards);
  }
  std::optional<std::vector<SweepRow>> load(int shard) override;
  void save(int shard, const std::vector<SweepRow>& rows) override;

 private:
  SweepOutput& output_;
  int first_ = 0;
  std::optional<SweepStage> stage_;
};

// "2 of 4: edges", as SweepSettings::stage says it; "" of a run of one sweep.
std::string stage_title(std::size_t number, std::size_t total, const std::string& name);

// What the record says of a cell beside its name; −1 where there is none.
struct CellPlace {
  std::string name;
  std::int64_t layer = -1;
  std::int64_t head = -1;
  std::int64_t position = -1;
};
CellPlace place_of(const UnitSet& set);

// The effects of every method on every cell, [method cell prompt].
struct EffectsTable {
  std::vector<std::string> methods;
  std::vector<CellPlace> cells;
  std::vector<double> effects;
  std::vector<double> baseline;  // [prompt]
  std::vector<int> clusters;     // [prompt]
};

struct EstimateOptions {
  MetricChoice metric = MetricChoice::logit_diff;  // what the effects are of
  int draws = 10000;
  std::uint64_t seed = 0;
  int threads = 1;
  bool per_prompt = false;
};

// The array of a record that says of which cluster each prompt is; clusters are what intervals and
// p are drawn by, and a merge of parts reads them here.
inline constexpr const char* kClusterOfPrompt = "cluster_of_prompt";
void add_clusters(const std::vector<int>& clusters, ExperimentRecord& record);

// Adds effect, ci_low, ci_high, ci_sim_low, ci_sim_high, p, p_adjusted, minimal_detectable, n,
// undefined, groups, interval_kind, clusters, and what tells the cells apart. NaN effects are left
// out of the means: n counts the rest, `groups` the clusters that they are in, `undefined` what was
// left out; `interval_kind` says what the interval is or why there is none (stats/bootstrap.h).
// Tests are simultaneous over the cells of one method. Of a divergence p and p_adjusted are NaN;
// `notes` says why, and that a loss reads no answers.
void add_effects(const EffectsTable& table, const EstimateOptions& options,
                 ExperimentRecord& record);

// Recovery r = (M − M_corrupt) / (M_clean − M_corrupt) of every cell, unclipped, as arrays
// recovery, recovery_low, recovery_high and recovery_kind; prompts whose |M_clean − M_corrupt| is
// below `floor` are dropped, and counted in the attribute `dropped` (Heimersheim and Nanda 2024).
struct RecoveryInputs {
  std::vector<double> clean;          // [prompt] M_clean
  std::vector<double> corrupt;        // [prompt] M_corrupt
  BaseSide base = BaseSide::corrupt;  // the side that effects are differences to
  double floor = 0.1;
};
void add_recovery(const EffectsTable& table, const RecoveryInputs& inputs,
                  const EstimateOptions& options, ExperimentRecord& record);

// What is done about effects that are NaN or infinite: they are stored as NaN with a warning, or
// refused (PX01, exit 2).
enum class NanUse : std::uint8_t { stored, refused };
inline NanUse nan_use_of(bool fail_on_nan) {
  return fail_on_nan ? NanUse::refused : NanUse::stored;
}
void check_finite(std::int64_t non_finite, NanUse use, Warnings& warnings);

// Warns of methods under which several cells have no effect at all, on any prompt: the sign of an
// edit that changes nothing, or of a model whose activations have overflowed and whose norms then
// put out the same whatever they are given.
// `effects` are [method cell prompt].
void warn_of_no_effect(const std::vector<std::string>& methods, std::size_t n_cells,
                       const std::vector<double>& effects, Warnings& warnings);

// Noise floor, verification and engine of a sweep as attributes.
void add_sweep_facts(const SweepResult& result, ExperimentRecord& record);

}  // namespace attnscope
