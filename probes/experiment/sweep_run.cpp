#include "attnscope/probes/sweep_run.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attnscope/stats/effects.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

// [method cell] arrays of a record under construction.
struct EffectArrays {
  explicit EffectArrays(std::size_t size)
      : effect(size, kNotMeasured),
        ci_low(size, kNotMeasured),
        ci_high(size, kNotMeasured),
        sim_low(size, kNotMeasured),
        sim_high(size, kNotMeasured),
        p(size, kNotMeasured),
        p_adjusted(size, kNotMeasured),
        detectable(size, kNotMeasured),
        n(size, 0),
        undefined(size, 0),
        groups(size, 0),
        kind(size, static_cast<std::int64_t>(IntervalKind::missing)) {}

  void set(std::size_t place, const EffectEstimate& estimate) {
    effect[place] = estimate.effect;
    ci_low[place] = estimate.ci.low;
    ci_high[place] = estimate.ci.high;
    sim_low[place] = estimate.ci_sim.low;
    sim_high[place] = estimate.ci_sim.high;
    p[place] = estimate.p;
    p_adjusted[place] = estimate.p_adjusted;
    detectable[place] = estimate.minimal_detectable;
    kind[place] = static_cast<std::int64_t>(estimate.interval_kind);
  }

  std::vector<double> effect, ci_low, ci_high, sim_low, sim_high, p, p_adjusted, detectable;
  std::vector<std::int64_t> n, undefined, groups, kind;
};

// Cells of one method that are measured on the same prompts are estimated together.
void estimate_method(const EffectsTable& table, std::size_t method, const EstimateOptions& options,
                     EffectArrays& out) {
  const std::size_t n_cells = table.cells.size();
  const std::size_t n_prompts = table.clusters.size();
  const double* effects = table.effects.data() + method * n_cells * n_prompts;
  std::map<std::vector<bool>, std::vector<std::size_t>> by_prompts;
  for (std::size_t c = 0; c < n_cells; ++c) {
    std::vector<bool> measured(n_prompts);
    for (std::size_t p = 0; p < n_prompts; ++p)
      measured[p] = !std::isnan(effects[c * n_prompts + p]);
    by_prompts[std::move(measured)].push_back(c);
  }
  for (const auto& [measured, cells] : by_prompts) {
    std::vector<int> clusters;
    for (std::size_t p = 0; p < n_prompts; ++p) {
      if (measured[p]) clusters.push_back(table.clusters[p]);
    }
    std::vector<double> values;
    for (const std::size_t c : cells) {
      for (std::size_t p = 0; p < n_prompts; ++p) {
        if (measured[p]) values.push_back(effects[c * n_prompts + p]);
      }
      out.n[method * n_cells + c] = static_cast<std::int64_t>(clusters.size());
      out.undefined[method * n_cells + c] = static_cast<std::int64_t>(n_prompts - clusters.size());
    }
    if (clusters.empty()) continue;
    const EffectTable estimates =
        estimate_effects(values, cells.size(), clusters,
                         {.draws = options.draws,
                          .seed = options.seed,
                          .stream = method,
                          .threads = options.threads},
                         is_divergence(options.metric) ? SignFlips::off : SignFlips::on);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      out.set(method * n_cells + cells[i], estimates.units[i]);
      out.groups[method * n_cells + cells[i]] = static_cast<std::int64_t>(estimates.clusters);
    }
  }
}

}  // namespace

std::vector<SweepPrompt> sweep_prompts(const ExperimentInputs& inputs,
                                       const SweepPromptOptions& options) {
  std::vector<SweepPrompt> prompts;
  for (const EncodedPair& pair : inputs.pairs.pairs) {
    SweepPrompt prompt;
    prompt.row = token_row(pair.clean, inputs.checkpoint.config);
    if (pair.corrupt) prompt.donors = {token_row(*pair.corrupt, inputs.checkpoint.config)};
    if (options.base == BaseSide::corrupt) std::swap(prompt.row, prompt.donors.at(0));
    prompt.target.answers = pair.answers;
    prompt.target.wrongs = pair.wrongs;
    prompt.target.label = pair.label.value_or(0);
    if (!options.metric.at.empty()) {
      prompt.target.at = positions_on(inputs, pair, options.metric.at, "--at");
    } else if (pair.mask >= 0) {
      prompt.target.at = {pair.mask};
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

std::vector<int> clusters_of(const PairSet& pairs) {
  std::vector<int> clusters;
  for (const EncodedPair& pair : pairs.pairs) clusters.push_back(pair.cluster);
  return clusters;
}

UnitSizes unit_sizes(const ModelConfig& config, const PairSet& pairs) {
  UnitSizes sizes;
  for (const LayerConfig& layer : config.layers) {
    sizes.heads.push_back(layer.attention.n_heads);
    sizes.kv_groups.push_back(layer.attention.n_kv_heads);
    sizes.neurons.push_back(config.mlp == MlpKind::none ? 0 : layer.d_mlp);
  }
  for (const EncodedPair& pair : pairs.pairs) {
    const auto length = static_cast<int>(pair.clean.size());
    sizes.positions = std::max(sizes.positions, length);
  }
  return sizes;
}

SweepSettings sweep_settings(const MetricOptions& metric, const SweepOptions& sweep,
                             const ComputeOptions& compute, const ExperimentContext& context) {
  SweepSettings settings;
  settings.metric = metric.metric;
  if (sweep.exact) settings.mode = SweepMode::exact;
  if (sweep.naive) settings.mode = SweepMode::naive;
  settings.engine = engine_of(compute.engine);
  settings.workers = at::get_num_threads();
  settings.verify = sweep.verify;
  settings.seed = compute.seed;
  settings.budget = compute.budget;
  settings.stop = context.stop;
  settings.progress = context.progress;
  return settings;
}

std::string describe(const SweepPlan& plan) {
  std::string text = count_of(static_cast<std::uint64_t>(plan.cells), "cell") + " × " +
                     count_of(static_cast<std::uint64_t>(plan.prompts), "prompt") + " = " +
                     count_of(static_cast<std::uint64_t>(plan.runs), "run") + ": " +
                     format_number(plan.flops / 1e12, 3) + " TFLOP";
  if (plan.flops > 0) {
    text += ", " + format_number(plan.naive_flops / plan.flops, 2) +
            " times fewer than one full pass a cell";
  }
  return text + "; about " + format_bytes(plan.memory_bytes) + " beside the weights, " +
         count_of(static_cast<std::uint64_t>(plan.shards), "shard") + "\n";
}

std::optional<std::vector<SweepRow>> OutputStore::load(int shard) {
  if (!output_.is_committed(first_ + shard)) return std::nullopt;
  const SweepRows stored = output_.read(first_ + shard);
  const auto& cells = stored.integers.at("cell");
  std::vector<SweepRow> rows;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    rows.push_back({cells[i], stored.integers.at("prompt")[i], stored.numbers.at("value")[i],
                    stored.numbers.at("placebo")[i]});
  }
  return rows;
}

void OutputStore::save(int shard, const std::vector<SweepRow>& rows) {
  SweepRows stored;
  for (const SweepRow& row : rows) {
    stored.integers["cell"].push_back(row.cell);
    stored.integers["prompt"].push_back(row.prompt);
    stored.numbers["value"].push_back(row.value);
    stored.numbers["placebo"].push_back(row.placebo);
  }
  output_.commit(first_ + shard, stored);
}

std::string stage_title(std::size_t number, std::size_t total, const std::string& name) {
  if (total == 1) return "";
  return std::to_string(number) + " of " + std::to_string(total) + ": " + name;
}

void fail_empty_part(std::size_t count, const char* noun, const ShardChoice& shard) {
  const std::string nouns = count_of(count, noun);
  throw Error(
      ErrorKind::input, "PX02",
      {.where = "--shard " + std::to_string(shard.index) + "/" + std::to_string(shard.count),
       .what = "this part is empty: the run has " + nouns + " to spread over the parts",
       .expected = "at most " + count_of(count, "part"),
       .got = std::to_string(shard.count)});
}

CellPlace place_of(const UnitSet& set) {
  CellPlace place = {.name = unit_set_name(set)};
  if (set.size() != 1) return place;
  const UnitId& unit = set.front();
  place.layer = unit.layer;
  place.position = unit.position;
  if (unit.kind != UnitKind::attention && unit.kind != UnitKind::mlp) place.head = unit.index;
  return place;
}

void add_effects(const EffectsTable& table, const EstimateOptions& options,
                 ExperimentRecord& record) {
  const auto n_methods = static_cast<std::int64_t>(table.methods.size());
  const auto n_cells = static_cast<std::int64_t>(table.cells.size());
  const auto n_prompts = static_cast<std::int64_t>(table.clusters.size());
  EffectArrays arrays(static_cast<std::size_t>(n_methods * n_cells));
  for (std::size_t m = 0; m < table.methods.size(); ++m) {
    estimate_method(table, m, options, arrays);
  }
  const std::vector<std::string> dims = {"method", "cell"};
  const std::vector<std::int64_t> shape = {n_methods, n_cells};
  const auto add = [&](const std::string& name, std::vector<double>& values) {
    record.arrays.push_back({name, dims, shape, std::move(values)});
  };
  add("effect", arrays.effect);
  add("ci_low", arrays.ci_low);
  add("ci_high", arrays.ci_high);
  add("ci_sim_low", arrays.sim_low);
  add("ci_sim_high", arrays.sim_high);
  add("p", arrays.p);
  add("p_adjusted", arrays.p_adjusted);
  add("minimal_detectable", arrays.detectable);
  record.integers.push_back({"n", dims, shape, std::move(arrays.n)});
  record.integers.push_back({"undefined", dims, shape, std::move(arrays.undefined)});
  record.integers.push_back({"groups", dims, shape, std::move(arrays.groups)});
  record.integers.push_back({"interval_kind", dims, shape, std::move(arrays.kind)});
  NamedIntegers layers = {"layers", {"cell"}, {n_cells}, {}};
  NamedIntegers heads = {"heads", {"cell"}, {n_cells}, {}};
  NamedIntegers positions = {"positions", {"cell"}, {n_cells}, {}};
  NamedTexts names = {"cells", {"cell"}, {n_cells}, {}};
  for (const CellPlace& cell : table.cells) {
    names.values.push_back(cell.name);
    layers.values.push_back(cell.layer);
    heads.values.push_back(cell.head);
    positions.values.push_back(cell.position);
  }
  record.texts.push_back({"methods", {"method"}, {n_methods}, table.methods});
  record.texts.push_back(std::move(names));
  for (NamedIntegers* index : {&layers, &heads, &positions}) {
    record.integers.push_back(std::move(*index));
  }
  record.arrays.push_back({"baseline", {"prompt"}, {n_prompts}, table.baseline});
  add_clusters(table.clusters, record);
  std::vector<std::string> notes = why_no_p(options.metric);
  if (options.metric == MetricChoice::loss) {
    notes.emplace_back("loss is of each prompt's own next tokens: answers of pairs are not read.");
  }
  if (!notes.empty()) {
    const auto n_notes = static_cast<std::int64_t>(notes.size());
    record.texts.push_back({"notes", {"note"}, {n_notes}, std::move(notes)});
  }
  if (options.per_prompt) {
    record.arrays.push_back({"per_prompt",
                             {"method", "cell", "prompt"},
                             {n_methods, n_cells, n_prompts},
                             table.effects});
  }
}

void add_clusters(const std::vector<int>& clusters, ExperimentRecord& record) {
  record.integers.push_back({kClusterOfPrompt,
                             {"prompt"},
                             {static_cast<std::int64_t>(clusters.size())},
                             {clusters.begin(), clusters.end()}});
}

void add_recovery(const EffectsTable& table, const RecoveryInputs& inputs,
                  const EstimateOptions& options, ExperimentRecord& record) {
  const std::size_t n_prompts = table.clusters.size();
  std::vector<double> span(n_prompts);
  std::int64_t dropped = 0;
  for (std::size_t p = 0; p < n_prompts; ++p) {
    span[p] = inputs.clean[p] - inputs.corrupt[p];
    if (std::abs(span[p]) >= inputs.floor) continue;
    span[p] = kNotMeasured;
    ++dropped;
  }
  EffectsTable recovery = table;
  for (std::size_t i = 0; i < recovery.effects.size(); ++i) {
    const std::size_t p = i % n_prompts;
    const double from_corrupt =
        inputs.base == BaseSide::corrupt ? recovery.effects[i] : recovery.effects[i] + span[p];
    recovery.effects[i] = from_corrupt / span[p];
  }
  EffectArrays arrays(table.methods.size() * table.cells.size());
  for (std::size_t m = 0; m < table.methods.size(); ++m) {
    estimate_method(recovery, m, options, arrays);
  }
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(table.methods.size()),
                                           static_cast<std::int64_t>(table.cells.size())};
  const std::vector<std::string> dims = {"method", "cell"};
  record.arrays.push_back({"recovery", dims, shape, std::move(arrays.effect)});
  record.arrays.push_back({"recovery_low", dims, shape, std::move(arrays.ci_low)});
  record.arrays.push_back({"recovery_high", dims, shape, std::move(arrays.ci_high)});
  record.integers.push_back({"recovery_kind", dims, shape, std::move(arrays.kind)});
  record.attributes["floor"] = inputs.floor;
  record.attributes["dropped"] = dropped;
}

void check_finite(std::int64_t non_finite, NanUse use, Warnings& warnings) {
  if (non_finite == 0) return;
  const std::string effects = count_of(static_cast<std::uint64_t>(non_finite), "effect");
  warnings.add("NaN or infinite, and stored as NaN: " + effects);
  if (use == NanUse::stored) return;
  throw Error(ErrorKind::input, "PX01",
              {.where = "--fail-on-nan",
               .what = "NaN or infinite on some prompts: " + effects,
               .next = "--strict names a tensor that holds NaN; without --fail-on-nan they are "
                       "stored as NaN and counted"});
}

void warn_of_no_effect(const std::vector<std::string>& methods, std::size_t n_cells,
                       const std::vector<double>& effects, Warnings& warnings) {
  const std::size_t size = effects.size() / methods.size();
  for (std::size_t m = 0; m < methods.size() && n_cells > 1; ++m) {
    const auto begin = effects.begin() + static_cast<std::ptrdiff_t>(m * size);
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    const bool any = std::any_of(begin, end, [](double effect) { return !std::isnan(effect); });
    const bool none =
        std::all_of(begin, end, [](double effect) { return std::isnan(effect) || effect == 0; });
    if (!any || !none) continue;
    warnings.add("all effects of " + methods[m] +
                 " are exactly 0 on every prompt: nothing that was changed reaches the metric; "
                 "where that is a surprise, `attnscope doctor -m MODEL` tells whether activations "
                 "overflow, and --dtype f64 gives them room");
  }
}

void add_sweep_facts(const SweepResult& result, ExperimentRecord& record) {
  record.noise_floor = result.noise_floor();
  record.attributes["rerun_difference"] = result.rerun_difference;
  record.attributes["batch_difference"] = result.batch_difference;
  record.attributes["rounding"] = result.rounding;
  record.attributes["verify_cells"] = result.verified;
  if (!std::isnan(result.verify_difference)) {
    record.attributes["verify_max_difference"] = result.verify_difference;
  }
  record.attributes["non_finite"] = result.non_finite;
  record.attributes["sweep_engine"] = result.engine;
}

}  // namespace attnscope
