#include "attnscope/probes/ablation.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "attnscope/capture/unfinished.h"
#include "attnscope/probes/ablation_cells.h"
#include "attnscope/probes/direct_effects.h"
#include "attnscope/probes/reference_means.h"
#include "attnscope/probes/sweep_run.h"
#include "attnscope/stats/rank_correlation.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "optimal.h"
#include "placed_units.h"
#include "reference_files.h"

namespace attnscope {
namespace {

bool has_method(const std::vector<AblationMethod>& methods, AblationMethod method) {
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

// Cells of the first method by |mean effect|, the largest first.
std::vector<std::size_t> by_size(const std::vector<double>& effects, std::size_t n_cells,
                                 std::size_t n_prompts) {
  std::vector<double> size(n_cells, 0);
  for (std::size_t i = 0; i < n_cells; ++i) {
    double sum = 0;
    for (std::size_t p = 0; p < n_prompts; ++p) {
      const double effect = effects[i * n_prompts + p];
      if (!std::isnan(effect)) sum += effect;
    }
    size[i] = std::abs(sum);
  }
  std::vector<std::size_t> order(n_cells);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  return order;
}

class AblationJob {
 public:
  AblationJob(const AblateSpec& spec, const ExperimentContext& context)
      : spec_(spec),
        context_(context),
        methods_(parse_methods(spec.methods, "--method")),
        effects_(parse_effects(spec.effects, "--effect")) {}

  ExperimentResult run();

 private:
  void open();
  std::vector<PlacedSet> placed_units();
  void check_several() const;
  void warn_of_few_units();
  MethodValues method_values(const Model& model) const;
  Cells all_cells(const MethodValues& values) const;
  // Without those of all units but one.
  std::vector<Cell> cells_of_methods(const Cells& made) const {
    const auto count = static_cast<std::ptrdiff_t>(methods_.size() * sets_.size());
    return {made.cells.begin(), made.cells.begin() + count};
  }
  // The sweep itself, then what is asked about the largest.
  std::string stage(const std::string& name) {
    const std::size_t total =
        1U + (spec_.float32_rerun > 0 ? 1U : 0U) + (spec_.interactions > 1 ? 1U : 0U);
    return stage_title(++stage_, total, name);
  }
  EffectsTable tabulate(const Model& model, const Cells& made, const SweepResult& result,
                        const SweepSettings& settings) const;
  std::vector<TokenRow> reference_rows() const;
  ExperimentRecord new_record(const std::string& name, const std::string& options_json) const;
  EstimateOptions estimates() const {
    return {.metric = spec_.metric.metric,
            .draws = spec_.sweep.bootstrap,
            .seed = spec_.compute.seed,
            .threads = at::get_num_threads(),
            .per_prompt = stores_per_prompt(spec_.sweep, spec_.shard)};
  }
  ExperimentRecord interactions(const Model& model, const MethodValues& values,
                                const std::vector<double>& singles, const SweepSettings& settings,
                                const std::string& options_json);
  ExperimentRecord rerun_in_float32(const Cells& made, const std::vector<double>& totals,
                                    const SweepSettings& settings, const std::string& options_json);
  bool needs_means() const {
    return std::any_of(methods_.begin(), methods_.end(), [](AblationMethod method) {
      return method == AblationMethod::mean || method == AblationMethod::mean_pos ||
             method == AblationMethod::optimal;
    });
  }
  bool wants(EffectChoice effect) const {
    return std::find(effects_.begin(), effects_.end(), effect) != effects_.end();
  }

  const AblateSpec& spec_;
  const ExperimentContext& context_;
  std::vector<AblationMethod> methods_;
  std::vector<EffectChoice> effects_;
  Warnings warnings_;
  std::size_t stage_ = 0;  // that runs, from 1
  ExperimentInputs inputs_;
  std::vector<PlacedSet> sets_;      // of this part
  std::vector<PlacedSet> all_sets_;  // of the whole run
  std::vector<SweepPrompt> prompts_;
  std::vector<TokenRow>
      reference_;      // prompts whose means are used; empty where no method needs one
  at::Tensor vector_;  // of --vector
};

// The prompts whose means are used: those of --reference, else the corrupt ones, else the clean.
std::vector<TokenRow> AblationJob::reference_rows() const {
  if (!spec_.reference.empty()) return read_reference_rows(spec_, inputs_);
  const std::vector<EncodedPair>& pairs = inputs_.pairs.pairs;
  const bool corrupt = std::all_of(
      pairs.begin(), pairs.end(), [](const EncodedPair& pair) { return pair.corrupt.has_value(); });
  std::vector<TokenRow> rows;
  for (const EncodedPair& pair : pairs) {
    const EncodedPrompt& prompt = corrupt ? *pair.corrupt : pair.clean;
    rows.push_back(token_row(prompt, inputs_.checkpoint.config));
  }
  return rows;
}

MethodValues AblationJob::method_values(const Model& model) const {
  MethodValues values;
  const bool optimal = has_method(methods_, AblationMethod::optimal);
  const bool by_position = has_method(methods_, AblationMethod::mean_pos);
  // All units but one are units of other parts too.
  const std::vector<UnitSet> units = units_of(spec_.leave_one_in ? all_sets_ : sets_);
  if (needs_means()) {
    values.means = reference_means(model, reference_, hooks_of(units, model.config()),
                                   by_position ? PositionMeans::on : PositionMeans::off,
                                   engine_of(spec_.compute.engine));
  }
  if (has_method(methods_, AblationMethod::vector)) {
    values.vector = vector_;
  }
  if (optimal) {
    values.optimal = optimal_constants(
        model, units, prompts_, values,
        {.metric = spec_.metric.metric, .seed = spec_.compute.seed, .stop = context_.stop});
  }
  return values;
}

ExperimentRecord AblationJob::new_record(const std::string& name,
                                         const std::string& options_json) const {
  ExperimentRecord record;
  record.name = name;
  record.kind = file_kind_name(FileKind::ablate);
  record.metric = choice_name(spec_.metric.metric);
  record.spec_json = options_json;
  record.attributes["unit"] = choice_name(spec_.unit);
  record.attributes["misaligned"] = inputs_.pairs.misaligned;
  return record;
}

// Each two of the units with the largest effects: joint effect, and how far it is from the sum of
// the single ones (synergy, methods B10).
ExperimentRecord AblationJob::interactions(const Model& model, const MethodValues& values,
                                           const std::vector<double>& singles,
                                           const SweepSettings& settings,
                                           const std::string& options_json) {
  const std::size_t n_prompts = prompts_.size();
  std::vector<std::size_t> order = by_size(singles, sets_.size(), n_prompts);
  order.resize(std::min(order.size(), static_cast<std::size_t>(spec_.interactions)));
  std::sort(order.begin(), order.end());
  std::vector<PlacedSet> joint;
  std::vector<std::pair<std::size_t, std::size_t>> members;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      joint.push_back(together(sets_[order[i]], sets_[order[j]]));
      members.emplace_back(order[i], order[j]);
    }
  }
  const Cells cells = make_cells(joint, {methods_[0]}, values, model.config());
  SweepSettings plain = settings;
  plain.store = nullptr;
  plain.stage = stage("interactions");
  const SweepResult result = run_sweep(model, cells.cells, prompts_, plain);
  EffectsTable table = {.methods = {"joint", "synergy"},
                        .cells = cells.places,
                        .effects = result.effects,
                        .baseline = result.baseline,
                        .clusters = clusters_of(inputs_.pairs)};
  for (std::size_t c = 0; c < joint.size(); ++c) {
    for (std::size_t p = 0; p < n_prompts; ++p) {
      table.effects.push_back(result.effects[c * n_prompts + p] -
                              singles[members[c].first * n_prompts + p] -
                              singles[members[c].second * n_prompts + p]);
    }
  }
  ExperimentRecord record = new_record("interactions", options_json);
  record.attributes["ablation"] = choice_name(methods_[0]);
  add_effects(table, estimates(), record);
  add_sweep_facts(result, record);
  return record;
}

// The cells with the largest effects of the first method, again in float32: how far low precision
// is off, and whether it ranks them alike.
ExperimentRecord AblationJob::rerun_in_float32(const Cells& made, const std::vector<double>& totals,
                                               const SweepSettings& settings,
                                               const std::string& options_json) {
  const std::size_t n_prompts = prompts_.size();
  std::vector<std::size_t> order = by_size(totals, made.places.size(), n_prompts);
  order.resize(std::min(order.size(), static_cast<std::size_t>(spec_.float32_rerun)));
  ComputeOptions compute = spec_.compute;
  compute.dtype = ComputeDType::f32;
  const Model model =
      load_model(inputs_.checkpoint, compute, strictness_of(spec_.strict), warnings_);
  std::vector<Cell> cells;
  EffectsTable again = {.methods = {choice_name(methods_[0]) + " (f32)"},
                        .baseline = {},
                        .clusters = clusters_of(inputs_.pairs)};
  for (const std::size_t i : order) {
    cells.push_back(made.cells[i]);
    again.cells.push_back(made.places[i]);
  }
  SweepSettings plain = settings;
  plain.store = nullptr;
  plain.stage = stage("rerun_f32");
  const SweepResult result = run_sweep(model, cells, prompts_, plain);
  again.effects = result.effects;
  again.baseline = result.baseline;
  std::vector<double> low(order.size());
  std::vector<double> high(order.size());
  double furthest = 0;
  for (std::size_t c = 0; c < order.size(); ++c) {
    for (std::size_t p = 0; p < n_prompts; ++p) {
      const double before = totals[order[c] * n_prompts + p];
      const double after = result.effects[c * n_prompts + p];
      if (std::isnan(before) || std::isnan(after)) continue;
      low[c] += before / static_cast<double>(n_prompts);
      high[c] += after / static_cast<double>(n_prompts);
    }
    furthest = std::max(furthest, std::abs(high[c] - low[c]));
  }
  ExperimentRecord record = new_record("rerun_f32", options_json);
  record.attributes["dtype_of_sweep"] = choice_name(spec_.compute.dtype);
  record.attributes["rank_agreement"] = kendall_tau_b(low, high);
  record.attributes["largest_difference"] = furthest;
  add_effects(again, estimates(), record);
  add_sweep_facts(result, record);
  return record;
}

// The units, at the positions of --positions where cells have one.
std::vector<PlacedSet> AblationJob::placed_units() {
  const ModelConfig& config = inputs_.checkpoint.config;
  const std::vector<UnitSet> sets = select_units(spec_, config, unit_sizes(config, inputs_.pairs));
  std::vector<PlacedSet> placed;
  if (spec_.unit != UnitChoice::head_pos) {
    for (const UnitSet& set : sets) placed.push_back(everywhere(set));
    return placed;
  }
  const std::vector<CellPosition> positions =
      cell_positions(spec_.positions, inputs_, "--positions", prompts_);
  for (const UnitSet& set : sets) {
    for (const CellPosition& position : positions) placed.push_back(placed_at(set, position));
  }
  return placed;
}

// What is asked about several units says nothing of a single one.
void AblationJob::check_several() const {
  if (all_sets_.size() > 1) return;
  const std::string only = "there is only one unit, " + place_of(all_sets_.front()).name;
  if (spec_.leave_one_in) {
    throw Error(ErrorKind::input, "AB24",
                {.where = "--leave-one-in",
                 .what = only + ", so that no other is left to switch off",
                 .expected = "two units or more"});
  }
  if (spec_.interactions > 0) {
    throw Error(ErrorKind::input, "AB24",
                {.where = "--interactions",
                 .what = only + ", so that there is no pair",
                 .expected = "two units or more"});
  }
}

// Pairs of more units than there are say nothing more.
void AblationJob::warn_of_few_units() {
  if (static_cast<std::size_t>(spec_.interactions) <= all_sets_.size()) return;
  warnings_.add("--interactions " + std::to_string(spec_.interactions) + ": there are only " +
                count_of(all_sets_.size(), "unit") + ", and each two of them are measured");
}

// Everything that needs no weights: inputs, units, prompts and their donors.
void AblationJob::open() {
  if (has_method(methods_, AblationMethod::optimal)) check_has_gradient(spec_.metric.metric);
  if (has_method(methods_, AblationMethod::vector)) vector_ = read_vector(spec_.vector_file);
  inputs_ = open_inputs(measured_inputs(spec_, CorruptUse::optional), warnings_);
  prompts_ = sweep_prompts(inputs_, {.metric = spec_.metric});
  all_sets_ = placed_units();
  check_several();
  warn_of_few_units();
  sets_ = part_of_list(all_sets_, spec_.shard, "unit");
  if (has_method(methods_, AblationMethod::resample)) {
    draw_donors(prompts_, clusters_of(inputs_.pairs), spec_.compute.seed);
  }
  if (needs_means()) reference_ = reference_rows();
  if (has_method(methods_, AblationMethod::mean_pos)) {
    check_equal_lengths(prompts_, reference_);
  }
  warn_of_own_values(methods_, prompts_, reference_, warnings_);
}

// Every method on every unit, then all units but one. A plan needs no values that are computed:
// what the units become costs the same. --vector is at hand, and its length is looked at.
Cells AblationJob::all_cells(const MethodValues& values) const {
  const ModelConfig& config = inputs_.checkpoint.config;
  std::vector<AblationMethod> methods = methods_;
  if (spec_.output.dry_run) {
    std::replace_if(
        methods.begin(), methods.end(),
        [](AblationMethod method) { return method != AblationMethod::vector; },
        AblationMethod::zero);
  }
  Cells made = make_cells(sets_, methods, values, config);
  if (!spec_.leave_one_in) return made;
  for (const PlacedSet& rest : part_of_list(all_but_one(all_sets_), spec_.shard, "unit")) {
    made.cells.push_back({"all but one", ablation_edits(rest, methods[0], values, config)});
  }
  return made;
}

// The effects that are asked for, one method after the other.
EffectsTable AblationJob::tabulate(const Model& model, const Cells& made, const SweepResult& result,
                                   const SweepSettings& settings) const {
  const std::size_t per_method = sets_.size() * prompts_.size();
  EffectsTable table = {
      .cells = made.places, .baseline = result.baseline, .clusters = clusters_of(inputs_.pairs)};
  const auto add = [&](const std::string& name, const std::vector<double>& effects,
                       std::size_t place) {
    const auto begin = effects.begin() + static_cast<std::ptrdiff_t>(place * per_method);
    table.methods.push_back(name);
    table.effects.insert(table.effects.end(), begin,
                         begin + static_cast<std::ptrdiff_t>(per_method));
  };
  const auto add_methods = [&](const std::vector<double>& effects, const std::string& suffix) {
    for (std::size_t m = 0; m < methods_.size(); ++m) {
      add(choice_name(methods_[m]) + suffix, effects, m);
    }
  };
  if (wants(EffectChoice::total)) add_methods(result.effects, "");
  if (wants(EffectChoice::direct)) {
    add_methods(direct_effects(model, cells_of_methods(made), prompts_, settings).effects,
                " (direct)");
  }
  if (spec_.leave_one_in) {
    add("leave one in (" + choice_name(methods_[0]) + ")", result.effects, methods_.size());
  }
  return table;
}

ExperimentResult AblationJob::run() {
  const auto start = std::chrono::steady_clock::now();
  validate(spec_);
  open();
  ExperimentResult outcome = begin_result(inputs_, spec_.compute);
  outcome.part = part_of_run(spec_.shard);
  const Model model =
      load_model(inputs_.checkpoint, spec_.compute, strictness_of(spec_.strict), warnings_);
  const MethodValues values =
      spec_.output.dry_run ? MethodValues{.vector = vector_} : method_values(model);
  const Cells made = all_cells(values);
  if (wants(EffectChoice::direct)) {
    check_direct_effects(model.config(), cells_of_methods(made), prompts_, spec_.metric.metric);
  }
  SweepSettings settings = sweep_settings(spec_.metric, spec_.sweep, spec_.compute, context_);
  const SweepPlan plan = plan_sweep(model, made.cells, prompts_, settings);
  outcome.cells = plan.cells;
  announce_plan(describe(plan), context_, outcome);

  AblateSpec resolved = spec_;
  resolved.compute = resolved_compute(spec_.compute, EngineChoice::automatic);
  const RunDescription description = description_of(FileKind::ablate, resolved, inputs_);
  std::vector<ShardRange> shards;
  for (int s = 0; s < plan.shards; ++s) shards.push_back({s, 1});
  ExperimentOutput output(description, context_, shards, warnings_);
  if (output.ends_at_plan(outcome) || output.restore(outcome)) return outcome;
  std::optional<OutputStore> store;
  if (output.sweep() != nullptr) settings.store = &store.emplace(*output.sweep(), 0);

  settings.stage = stage("ablate");
  const SweepResult result = run_sweep(model, made.cells, prompts_, settings);
  outcome.cells_per_second =
      result.seconds > 0 ? static_cast<double>(plan.runs) / result.seconds : 0;
  outcome.record = new_record("ablate", description.options_json);
  const EffectsTable table = tabulate(model, made, result, settings);
  warn_of_no_effect(table.methods, table.cells.size(), table.effects, warnings_);
  add_effects(table, estimates(), outcome.record);
  add_sweep_facts(result, outcome.record);
  std::vector<ExperimentRecord> records = {outcome.record};
  if (spec_.float32_rerun > 0) {
    records.push_back(rerun_in_float32(made, result.effects, settings, description.options_json));
  }
  if (spec_.interactions > 1) {
    records.push_back(
        interactions(model, values, result.effects, settings, description.options_json));
  }
  check_finite(result.non_finite, nan_use_of(spec_.fail_on_nan), warnings_);
  output.finish(records, outcome);
  outcome.further_records.assign(records.begin() + 1, records.end());
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace

ExperimentResult run_ablation(const AblateSpec& spec, const ExperimentContext& context) {
  return saying_what_is_kept(spec.output, [&] { return AblationJob(spec, context).run(); });
}

}  // namespace attnscope
