#include "attnscope/probes/patching.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "attnscope/capture/unfinished.h"
#include "attnscope/probes/sweep_run.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "patch_cells.h"
#include "path.h"

namespace attnscope {
namespace {

class PatchJob {
 public:
  PatchJob(const PatchSpec& spec, const ExperimentContext& context)
      : spec_(spec), context_(context) {}

  ExperimentResult run();

 private:
  bool cuts_edges() const { return !spec_.edges.empty(); }
  bool contains_cut(EdgeCut cut) const {
    const std::vector<EdgeCut> cuts = parse_edge_cuts(spec_.edges, "--edge");
    return std::find(cuts.begin(), cuts.end(), cut) != cuts.end();
  }
  bool follows_paths() const { return !spec_.senders.empty(); }
  // Edges are cut in the clean run, paths patched into it.
  BaseSide base_side() const {
    const bool denoise = spec_.direction == PatchDirection::denoise;
    return denoise && !cuts_edges() && !follows_paths() ? BaseSide::corrupt : BaseSide::clean;
  }
  EstimateOptions estimates() const {
    return {.metric = spec_.metric.metric,
            .draws = spec_.sweep.bootstrap,
            .seed = spec_.compute.seed,
            .threads = at::get_num_threads(),
            .per_prompt = stores_per_prompt(spec_.sweep, spec_.shard)};
  }
  ExperimentRecord new_record(const std::string& name, const std::string& options_json) const;
  void add_result(const PatchGroup& group, const SweepResult& result,
                  const std::string& options_json, std::vector<ExperimentRecord>& records);
  void run_sweeps(const Model& model, const std::vector<PatchGroup>& groups,
                  const std::vector<SweepPrompt>& prompts, ExperimentResult& outcome);
  void run_paths(const Model& model, const std::vector<SweepPrompt>& prompts,
                 ExperimentResult& outcome);
  void check_pairs_differ() const;
  bool has_recovery() const;
  void check_floor() const;
  void warn_of_rows_without_keys(const PatchGroup& group);
  PatchSpec resolved() const {
    PatchSpec spec = spec_;
    spec.compute = resolved_compute(spec_.compute, EngineChoice::automatic);
    return spec;
  }

  const PatchSpec& spec_;
  const ExperimentContext& context_;
  Warnings warnings_;
  ExperimentInputs inputs_;
};

ExperimentRecord PatchJob::new_record(const std::string& name,
                                      const std::string& options_json) const {
  ExperimentRecord record;
  record.name = name;
  record.kind = file_kind_name(FileKind::patch);
  record.metric = choice_name(spec_.metric.metric);
  record.spec_json = options_json;
  record.attributes["misaligned"] = inputs_.pairs.misaligned;
  record.attributes["base"] = base_side() == BaseSide::corrupt ? "corrupt" : "clean";
  if (!cuts_edges() && !follows_paths()) {
    record.attributes["direction"] = choice_name(spec_.direction);
  }
  return record;
}

void PatchJob::add_result(const PatchGroup& group, const SweepResult& result,
                          const std::string& options_json, std::vector<ExperimentRecord>& records) {
  ExperimentRecord record = new_record(group.record_name, options_json);
  const EffectsTable table = {.methods = group.methods,
                              .cells = group.places,
                              .effects = result.effects,
                              .baseline = result.baseline,
                              .clusters = clusters_of(inputs_.pairs)};
  warn_of_no_effect(table.methods, table.cells.size(), table.effects, warnings_);
  add_effects(table, estimates(), record);
  if (cuts_edges()) record.attributes["rows_without_keys"] = group.rows_without_keys;
  if (has_recovery()) {
    const bool corrupt = base_side() == BaseSide::corrupt;
    record.arrays.push_back({"donor_baseline",
                             {"prompt"},
                             {static_cast<std::int64_t>(result.donor_baseline.size())},
                             result.donor_baseline});
    add_recovery(table,
                 {.clean = corrupt ? result.donor_baseline : result.baseline,
                  .corrupt = corrupt ? result.baseline : result.donor_baseline,
                  .base = base_side(),
                  .floor = spec_.floor},
                 estimates(), record);
  }
  add_sweep_facts(result, record);
  records.push_back(std::move(record));
}

// Of pairs with both prompts, by a metric that tells them apart.
bool PatchJob::has_recovery() const {
  return !follows_paths() && !is_divergence(spec_.metric.metric) &&
         std::all_of(inputs_.pairs.pairs.begin(), inputs_.pairs.pairs.end(),
                     [](const EncodedPair& pair) { return pair.corrupt.has_value(); });
}

void PatchJob::check_floor() const {
  if (spec_.floor == PatchSpec{}.floor || has_recovery()) return;
  throw Error(ErrorKind::input, "PT09",
              {.where = "--floor",
               .what = "it is about the recovery, and there is none here",
               .expected = "pairs with corrupt prompts, and a metric that does not compare with "
                           "the clean run"});
}

// A row of attention without a key is 0, not a choice among what is left.
void PatchJob::warn_of_rows_without_keys(const PatchGroup& group) {
  const bool knockout = contains_cut(EdgeCut::knockout);
  if (group.rows_without_keys == 0 || !knockout) return;
  warnings_.add(count_of(static_cast<std::uint64_t>(group.rows_without_keys), "query row") +
                " without any key left by --edge knockout: such a row attends to nothing and its "
                "heads put out 0, so that the effect is that of silencing them there");
}

// Values of a run put into the same run change nothing. Of paths the sender is asked.
void PatchJob::check_pairs_differ() const {
  if (cuts_edges() || follows_paths()) return;
  const std::vector<EncodedPair>& pairs = inputs_.pairs.pairs;
  const bool same = std::all_of(pairs.begin(), pairs.end(), [](const EncodedPair& pair) {
    return pair.corrupt && pair.corrupt->ids == pair.clean.ids;
  });
  if (!same) return;
  throw Error(ErrorKind::input, "PT07",
              {.where = pair_place(spec_.pairs, pairs.front().line),
               .what = "every corrupt prompt is its clean prompt, so that nothing is patched",
               .expected = "at least one pair whose prompts differ"});
}

// The cells of part --shard: the same of every method.
PatchGroup part_of_group(const PatchGroup& group, const ShardChoice& shard) {
  PatchGroup part = group;
  part.cells.clear();
  part.places = part_of_list(group.places, shard, "cell");
  const std::size_t n_cells = group.places.size();
  for (std::size_t m = 0; m < group.methods.size(); ++m) {
    const auto begin = group.cells.begin() + static_cast<std::ptrdiff_t>(m * n_cells);
    const std::vector<Cell> of_method(begin, begin + static_cast<std::ptrdiff_t>(n_cells));
    for (const Cell& cell : part_of_list(of_method, shard, "cell")) part.cells.push_back(cell);
  }
  return part;
}

void PatchJob::run_sweeps(const Model& model, const std::vector<PatchGroup>& whole_groups,
                          const std::vector<SweepPrompt>& prompts, ExperimentResult& outcome) {
  std::vector<PatchGroup> groups;
  for (const PatchGroup& group : whole_groups) {
    groups.push_back(part_of_group(group, spec_.shard));
    if (cuts_edges()) warn_of_rows_without_keys(group);
  }
  SweepSettings settings = sweep_settings(spec_.metric, spec_.sweep, spec_.compute, context_);
  std::string text;
  std::vector<ShardRange> shards;
  std::vector<int> first_shard;
  for (const PatchGroup& group : groups) {
    const SweepPlan plan = plan_sweep(model, group.cells, prompts, settings);
    text += describe(plan);
    outcome.cells += plan.cells;
    first_shard.push_back(static_cast<int>(shards.size()));
    for (int s = 0; s < plan.shards; ++s) {
      shards.push_back({static_cast<std::int64_t>(shards.size()), 1});
    }
  }
  announce_plan(text, context_, outcome);
  const RunDescription description = description_of(FileKind::patch, resolved(), inputs_);
  ExperimentOutput output(description, context_, shards, warnings_);
  if (output.ends_at_plan(outcome) || output.restore(outcome)) return;
  std::vector<ExperimentRecord> records;
  double runs = 0;
  double seconds = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::optional<OutputStore> store;
    settings.stage = stage_title(g + 1, groups.size(), groups[g].record_name);
    settings.store = nullptr;
    if (output.sweep() != nullptr) {
      settings.store = &store.emplace(*output.sweep(), first_shard[g]);
    }
    const SweepResult result = run_sweep(model, groups[g].cells, prompts, settings);
    runs += static_cast<double>(result.plan.runs);
    seconds += result.seconds;
    add_result(groups[g], result, description.options_json, records);
    check_finite(result.non_finite, nan_use_of(spec_.fail_on_nan), warnings_);
  }
  outcome.cells_per_second = seconds > 0 ? runs / seconds : 0;
  outcome.record = records[0];
  output.finish(records, outcome);
  outcome.further_records.assign(records.begin() + 1, records.end());
}

void PatchJob::run_paths(const Model& model, const std::vector<SweepPrompt>& prompts,
                         ExperimentResult& outcome) {
  const UnitSizes sizes = unit_sizes(model.config(), inputs_.pairs);
  const std::vector<UnitSet> senders = part_of_list(
      parse_unit_sets(spec_.senders, sizes, UnitKind::head, "--senders"), spec_.shard, "sender");
  const std::vector<ReceiverId> receivers =
      parse_receivers(spec_.receivers.empty() ? "logits" : spec_.receivers, sizes, "--receivers");
  check_paths(model.config(), senders, receivers);
  outcome.cells = static_cast<std::int64_t>(senders.size());
  const std::string plan = count_of(senders.size(), "sender") + " × " +
                           count_of(prompts.size(), "prompt") +
                           ", two full passes each and two for all\n";
  announce_plan(plan, context_, outcome);
  const RunDescription description = description_of(FileKind::patch, resolved(), inputs_);
  ExperimentOutput output(description, context_, {}, warnings_);
  if (output.ends_at_plan(outcome) || output.restore(outcome)) return;
  PathEffects result = path_effects(model, senders, receivers, prompts,
                                    {.metric = spec_.metric.metric,
                                     .engine = engine_of(spec_.compute.engine),
                                     .mlps = spec_.freeze_mlps ? FrozenMlps::on : FrozenMlps::off,
                                     .stop = context_.stop});
  std::int64_t non_finite = 0;
  for (double& effect : result.effects) {
    if (std::isfinite(effect)) continue;
    effect = kNotMeasured;
    ++non_finite;
  }
  check_finite(non_finite, nan_use_of(spec_.fail_on_nan), warnings_);
  EffectsTable table = {.methods = {"path"},
                        .effects = result.effects,
                        .baseline = result.baseline,
                        .clusters = clusters_of(inputs_.pairs)};
  for (const UnitSet& sender : senders) table.cells.push_back(place_of(sender));
  warn_of_no_effect(table.methods, table.cells.size(), table.effects, warnings_);
  ExperimentRecord record = new_record("paths", description.options_json);
  std::string names;
  for (const ReceiverId& receiver : receivers) {
    names += (names.empty() ? "" : ", ") + receiver_name(receiver);
  }
  record.attributes["receivers"] = names;
  record.attributes["frozen_mlps"] = std::int64_t{spec_.freeze_mlps ? 1 : 0};
  record.attributes["non_finite"] = non_finite;
  record.attributes["own_value_difference"] = result.own_value_difference;
  record.attributes["rounding"] = rounding_of(result.baseline, model.dtype());
  record.noise_floor =
      std::max(result.own_value_difference, rounding_of(result.baseline, model.dtype()));
  add_effects(table, estimates(), record);
  outcome.record = record;
  output.finish({record}, outcome);
}

ExperimentResult PatchJob::run() {
  const auto start = std::chrono::steady_clock::now();
  validate(spec_);
  if (base_side() == BaseSide::corrupt && is_divergence(spec_.metric.metric)) {
    throw Error(ErrorKind::input, "PT04",
                {.where = "--metric " + choice_name(spec_.metric.metric),
                 .what = "it compares with the clean run, which is not the run that is patched",
                 .next = "use --direction noise, or another metric"});
  }
  inputs_ = open_inputs(
      measured_inputs(spec_, cuts_edges() ? CorruptUse::optional : CorruptUse::required),
      warnings_);
  check_pairs_differ();
  check_floor();
  std::vector<SweepPrompt> prompts =
      sweep_prompts(inputs_, {.metric = spec_.metric, .base = base_side()});
  ExperimentResult outcome = begin_result(inputs_, spec_.compute);
  outcome.part = part_of_run(spec_.shard);
  const Model model =
      load_model(inputs_.checkpoint, spec_.compute, strictness_of(spec_.strict), warnings_);
  if (follows_paths()) {
    run_paths(model, prompts, outcome);
  } else if (cuts_edges()) {
    run_sweeps(model, {edge_group(spec_, inputs_, prompts)}, prompts, outcome);
  } else {
    run_sweeps(model, patch_groups(spec_, inputs_, model.sites(), prompts), prompts, outcome);
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace

ExperimentResult run_patching(const PatchSpec& spec, const ExperimentContext& context) {
  return saying_what_is_kept(spec.output, [&] { return PatchJob(spec, context).run(); });
}

}  // namespace attnscope
