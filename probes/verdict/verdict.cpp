#include "attnscope/probes/verdict.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "attnscope/capture/unfinished.h"
#include "attnscope/probes/direct_effects.h"
#include "attnscope/probes/random_model.h"
#include "attnscope/probes/reference_means.h"
#include "attnscope/probes/sweep_run.h"
#include "attnscope/probes/verdict_record.h"
#include "attnscope/render/report.h"
#include "attnscope/sites/selectors.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/philox.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "measure.h"

namespace attnscope {
namespace {

constexpr std::uint64_t kPlaceboStream = 0x91ACEB0ULL;

bool is_known(const std::vector<std::int64_t>& list, std::int64_t id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

class VerdictJob {
 public:
  VerdictJob(const VerdictSpec& spec, const ExperimentContext& context)
      : spec_(spec), context_(context), methods_(parse_methods(spec.methods, "--method")) {}

  ExperimentResult run();

 private:
  VerdictWorld world_of(const Model& model, UnitKind kind) const;
  VerdictWorld random_world(const Model& random) const;
  void check_groups() const;
  void warn_of_unchanged(const VerdictWorld& world);
  void warn_of_few_sets(const VerdictWorld& world);
  void add_placebo(std::vector<SweepPrompt>& prompts) const;
  int add_source(std::vector<SweepPrompt>& prompts) const;
  MeasureOptions measure_options() const;
  MeasureOptions control_options(const MeasureOptions& options) const;
  std::string plan_stages(const Model& model, const VerdictWorld& heads,
                          ExperimentResult& outcome) const;
  std::string metric_unit() const;
  ExperimentRecord judge_world(const VerdictWorld& world, const MeasureOptions& options,
                               const PositiveControl& control, const std::string& options_json);
  void write_report(const RunDescription& description, ExperimentResult& outcome) const;
  WriteMode html_mode() const {
    return spec_.output.force || spec_.output.resume ? WriteMode::replace : WriteMode::create;
  }
  std::string html_path() const;
  std::string judge_random_model(const MeasureOptions& options);
  void add_control_model(const MeasureOptions& options, ExperimentRecord& record);

  const VerdictSpec& spec_;
  const ExperimentContext& context_;
  std::vector<AblationMethod> methods_;
  Warnings warnings_;
  ExperimentInputs inputs_;
};

void VerdictJob::check_groups() const {
  const PairSet& set = inputs_.pairs;
  if (set.n_clusters > 1) return;
  const bool copies = set.n_groups > 1;
  throw Error(
      ErrorKind::input, "VD12",
      {.where = escape_untrusted(spec_.pairs.pairs_file, 4096),
       .what = std::string(copies ? "all groups hold exactly the same pairs and count as one"
                                  : "all pairs are of one group") +
               ", and a verdict chooses on one half of the groups what it measures on the other",
       .expected = "pairs of at least two groups; twenty for verdicts",
       .got = count_of(set.pairs.size(), "pair") + " of " +
              (copies ? std::to_string(set.n_groups) + " groups that are copies of one another"
                      : "one group"),
       .next = copies ? "add other pairs"
                      : "add pairs, or give every independent pair a group of its own"});
}

// Means and donors are of one half of the prompts: copies of one prompt give each its own values.
void VerdictJob::warn_of_unchanged(const VerdictWorld& world) {
  std::vector<TokenRow> reference;
  for (const SweepPrompt& prompt : world.prompts) {
    reference.push_back(world.has_corrupt ? prompt.donors.front() : prompt.row);
  }
  warn_of_own_values(methods_, world.prompts, reference, warnings_);
}

// A default that is too much for a small model is nobody's mistake.
void VerdictJob::warn_of_few_sets(const VerdictWorld& world) {
  const std::uint64_t most = most_matched_sets(world.units.size(), measure_options());
  if (spec_.matched_sets == VerdictSpec{}.matched_sets ||
      static_cast<std::uint64_t>(spec_.matched_sets) <= most) {
    return;
  }
  warnings_.add("--matched-sets " + std::to_string(spec_.matched_sets) + ": of " +
                count_of(world.units.size(), world.noun) + " there are at most " +
                count_of(most, "other set") + " as large as that of the strongest");
}

// A logit difference of the answers of two prompts of other clusters; all prompts get one or none.
void VerdictJob::add_placebo(std::vector<SweepPrompt>& prompts) const {
  if (spec_.metric.metric != MetricChoice::logit_diff) return;
  const std::vector<int> clusters = clusters_of(inputs_.pairs);
  std::vector<std::pair<std::int64_t, std::int64_t>> chosen;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    Philox random(spec_.compute.seed, kPlaceboStream + p);
    std::vector<std::int64_t> two;
    for (std::size_t tries = 0; tries < 64 * prompts.size() && two.size() < 2; ++tries) {
      const std::size_t other = random.below(static_cast<std::uint32_t>(prompts.size()));
      if (clusters[other] == clusters[p]) continue;
      const std::int64_t id = prompts[other].target.answers[0];
      const MetricTarget& own = prompts[p].target;
      if (!is_known(own.answers, id) && !is_known(own.wrongs, id) && !is_known(two, id)) {
        two.push_back(id);
      }
    }
    if (two.size() < 2) return;
    chosen.emplace_back(two[0], two[1]);
  }
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    prompts[p].target.placebo_answers = {chosen[p].first};
    prompts[p].target.placebo_wrongs = {chosen[p].second};
  }
}

// The positions of the answer's source, where every pair names them; −1 else.
int VerdictJob::add_source(std::vector<SweepPrompt>& prompts) const {
  const std::string name = spec_.sources.empty() ? "source" : spec_.sources;
  std::size_t named = 0;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const auto& spans = inputs_.pairs.pairs[p].spans;
    const auto found = spans.find(name);
    std::vector<int> positions;
    if (found != spans.end()) positions = found->second;
    named += positions.empty() ? 0 : 1;
    prompts[p].position_sets.push_back(std::move(positions));
  }
  if (named == prompts.size()) return static_cast<int>(prompts[0].position_sets.size()) - 1;
  if (!spec_.sources.empty()) {
    throw Error(ErrorKind::input, "VD11",
                {.where = "--source",
                 .what = "not every pair names tokens in column " + quote(name),
                 .expected = std::to_string(prompts.size()) + " pairs that do",
                 .got = std::to_string(named),
                 .next = "name another column, or fill it in every pair"});
  }
  return -1;
}

// The model of the control with random weights.
VerdictWorld VerdictJob::random_world(const Model& random) const {
  VerdictWorld world = world_of(random, UnitKind::head);
  world.label = "random weights: ";
  return world;
}

VerdictWorld VerdictJob::world_of(const Model& model, UnitKind kind) const {
  VerdictWorld world = {.model = model, .noun = kind == UnitKind::head ? "head" : "kv group"};
  const UnitSizes sizes = unit_sizes(model.config(), inputs_.pairs);
  world.units = all_units(kind, sizes);
  if (!spec_.layers.empty()) {
    const std::vector<int> layers = parse_ranges(spec_.layers, model.config().n_layers, "--layers");
    std::erase_if(world.units, [&](const UnitSet& set) {
      return std::find(layers.begin(), layers.end(), set.front().layer) == layers.end();
    });
  }
  world.prompts = sweep_prompts(inputs_, {.metric = spec_.metric});
  world.clusters = clusters_of(inputs_.pairs);
  for (const EncodedPair& pair : inputs_.pairs.pairs) {
    world.places.push_back(pair_place(spec_.pairs, pair.line));
  }
  world.halves =
      split_clusters(static_cast<std::size_t>(inputs_.pairs.n_clusters), spec_.compute.seed);
  world.has_corrupt = std::all_of(world.prompts.begin(), world.prompts.end(),
                                  [](const SweepPrompt& p) { return !p.donors.empty(); });
  const bool resample =
      std::find(methods_.begin(), methods_.end(), AblationMethod::resample) != methods_.end();
  if (resample) draw_donors(world.prompts, world.clusters, spec_.compute.seed);
  add_placebo(world.prompts);
  world.source_set = add_source(world.prompts);
  return world;
}

MeasureOptions VerdictJob::measure_options() const {
  return {.methods = methods_,
          .sweep = sweep_settings(spec_.metric, spec_.sweep, spec_.compute, context_),
          .random_draws = spec_.random_draws,
          .matched_sets = spec_.matched_sets,
          .delta = spec_.delta,
          .resamples = spec_.sweep.bootstrap};
}

// The model with random weights is only counted: without comparisons.
MeasureOptions VerdictJob::control_options(const MeasureOptions& options) const {
  MeasureOptions plain = options;
  plain.random_draws = 0;
  plain.joint_units = 0;
  plain.matched_sets = 0;
  return plain;
}

std::string VerdictJob::metric_unit() const {
  switch (spec_.metric.metric) {
    case MetricChoice::logit_diff:
    case MetricChoice::label_logit:
      return "logits";
    case MetricChoice::log_prob:
    case MetricChoice::kl:
    case MetricChoice::loss:
      return "nats";
    case MetricChoice::rank:
      return "ranks";
    case MetricChoice::prob:
    case MetricChoice::total_variation:
    case MetricChoice::top1_change:
    case MetricChoice::embedding_shift:
      break;
  }
  return "of " + choice_name(spec_.metric.metric);
}

ExperimentRecord VerdictJob::judge_world(const VerdictWorld& world, const MeasureOptions& options,
                                         const PositiveControl& control,
                                         const std::string& options_json) {
  VerdictMeasurement measured = measure_verdict(world, options);
  std::vector<std::string> methods;
  for (const AblationMethod method : methods_) methods.push_back(choice_name(method));
  warn_of_no_effect(methods, world.units.size(), measured.totals.effects, warnings_);
  measured.input.positive_control = control.outcome;
  measured.input.positive_control_note = control.note;
  measured.input.non_finite = measured.totals.non_finite;
  const VerdictOptions judging = {.delta = measured.delta,
                                  .noise_floor = measured.totals.noise_floor(),
                                  .seed = spec_.compute.seed,
                                  .draws = spec_.sweep.bootstrap,
                                  .threads = at::get_num_threads(),
                                  .unit_noun = world.noun,
                                  .metric_unit = metric_unit()};
  const VerdictResult result = judge(measured.input, judging, measured.estimates);
  ExperimentRecord record =
      verdict_record(measured.input, judging, result, choice_name(spec_.metric.metric));
  record.spec_json = options_json;
  record.attributes["misaligned"] = inputs_.pairs.misaligned;
  add_sweep_facts(measured.totals, record);
  record.arrays.push_back({"baseline",
                           {"prompt"},
                           {static_cast<std::int64_t>(measured.totals.baseline.size())},
                           measured.totals.baseline});
  add_clusters(world.clusters, record);
  if (spec_.sweep.per_prompt) {
    record.arrays.push_back(
        {"per_prompt",
         {"method", "cell", "prompt"},
         {static_cast<std::int64_t>(methods_.size()), static_cast<std::int64_t>(world.units.size()),
          static_cast<std::int64_t>(world.prompts.size())},
         measured.totals.effects});
  }
  check_finite(measured.totals.non_finite, nan_use_of(spec_.fail_on_nan), warnings_);
  return record;
}

std::string VerdictJob::html_path() const {
  if (!spec_.html.empty()) return spec_.html;
  const std::string& out = spec_.output.out;
  return out.empty() ? "" : out.substr(0, out.rfind('.')) + ".html";
}

void VerdictJob::write_report(const RunDescription& description, ExperimentResult& outcome) const {
  const std::string path = html_path();
  if (path.empty()) return;
  VerdictReport report;
  report.model = description.model_info;
  report.run = run_info(description.compute, description.options_json);
  report.prompts = static_cast<std::int64_t>(inputs_.pairs.pairs.size());
  report.clusters = inputs_.pairs.n_clusters;
  report.record = outcome.record;
  write_file_atomically(path, verdict_report_html(report), html_mode());
  outcome.html = path;
}

// One more line among the controls of a record.
void add_control(ExperimentRecord& record, const std::string& name, const std::string& result,
                 const std::string& detail) {
  const std::map<std::string, std::string> line = {
      {"controls", name}, {"control_results", result}, {"control_details", detail}};
  for (NamedTexts& text : record.texts) {
    const auto found = line.find(text.name);
    if (found == line.end()) continue;
    text.values.push_back(found->second);
    ++text.shape[0];
  }
}

// The same prompts in a model of the same shape that knows nothing.
std::string VerdictJob::judge_random_model(const MeasureOptions& options) {
  const Model random = load_model(random_model(inputs_.checkpoint, spec_.compute.seed),
                                  spec_.compute, Strictness::lenient, warnings_);
  VerdictMeasurement measured = measure_verdict(random_world(random), control_options(options));
  const VerdictResult result = judge(measured.input,
                                     {.delta = measured.delta,
                                      .seed = spec_.compute.seed,
                                      .draws = spec_.sweep.bootstrap,
                                      .threads = at::get_num_threads()},
                                     measured.estimates);
  std::map<Verdict, int> counts;
  for (const UnitResult& unit : result.units) ++counts[unit.verdict];
  return "with random weights of the same shape " + std::to_string(counts[Verdict::causal]) +
         " of " + count_of(result.units.size(), "head") + " come out causal and " +
         std::to_string(counts[Verdict::no_effect]) +
         " without effect, at δ = " + format_number(measured.delta, 2);
}

// Reported, never a gate: where it cannot be had, all the rest stands.
void VerdictJob::add_control_model(const MeasureOptions& options, ExperimentRecord& record) {
  try {
    add_control(record, "random weights", "reported", judge_random_model(options));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::output) throw;
    add_control(record, "random weights", "not available", error.detail().what);
  }
}

std::string describe(const PlannedStage& stage) {
  const bool at_most = stage.certainty == PlannedStage::Certainty::at_most;
  return stage.name + ": " + (at_most ? "at most " : "") +
         count_of(static_cast<std::uint64_t>(stage.cells), "cell") + " × " +
         count_of(static_cast<std::uint64_t>(stage.prompts), "prompt") + " = " +
         count_of(static_cast<std::uint64_t>(stage.runs), "run") + ", " +
         format_number(stage.flops / 1e12, 3) + " TFLOP\n";
}

// Gives the stages to the result; returns them in words.
std::string VerdictJob::plan_stages(const Model& model, const VerdictWorld& heads,
                                    ExperimentResult& outcome) const {
  const MeasureOptions options = measure_options();
  outcome.stages = plan_verdict(heads, options);
  const auto add = [&](const VerdictWorld& world, const MeasureOptions& how) {
    const std::vector<PlannedStage> more = plan_verdict(world, how);
    outcome.stages.insert(outcome.stages.end(), more.begin(), more.end());
  };
  // Random weights cost what the model's own cost.
  if (spec_.control_model) add(random_world(model), control_options(options));
  if (spec_.kv_groups) add(world_of(model, UnitKind::kv_group), options);
  outcome.cells = outcome.stages.front().cells;
  std::uint64_t memory = 0;
  double exact = 0, most = 0;
  std::string list;
  for (std::size_t i = 0; i < outcome.stages.size(); ++i) {
    const PlannedStage& stage = outcome.stages[i];
    memory = std::max(memory, stage.memory_bytes);
    most += stage.flops;
    if (stage.certainty == PlannedStage::Certainty::exact) exact += stage.flops;
    list += "  " + std::to_string(i + 1) + " of " + std::to_string(outcome.stages.size()) + ": " +
            describe(stage);
  }
  return count_of(heads.units.size(), "head") + " × " + count_of(methods_.size(), "method") +
         " × " + count_of(heads.prompts.size(), "prompt") + ", in stages that depend on what the " +
         "first one finds:\n" + list + "  together " + format_number(exact / 1e12, 3) + " to " +
         format_number(most / 1e12, 3) + " TFLOP; about " + format_bytes(memory) +
         " beside the weights\n";
}

ExperimentResult VerdictJob::run() {
  const auto start = std::chrono::steady_clock::now();
  validate(spec_);
  InputRequest request = measured_inputs(spec_, CorruptUse::optional);
  request.without_head =
      "a verdict needs one; `attnscope ablate --metric embedding-shift` does not";
  inputs_ = open_inputs(request, warnings_);
  check_groups();
  ExperimentResult outcome = begin_result(inputs_, spec_.compute);
  const Model model =
      load_model(inputs_.checkpoint, spec_.compute, strictness_of(spec_.strict), warnings_);
  const VerdictWorld heads = world_of(model, UnitKind::head);
  warn_of_unchanged(heads);
  warn_of_few_sets(heads);
  check_direct_effects(model.config(), {}, heads.prompts, spec_.metric.metric);
  const std::string plan = plan_stages(model, heads, outcome);
  announce_plan(plan, context_, outcome);
  if (!html_path().empty()) check_can_write(html_path(), html_mode());
  VerdictSpec resolved = spec_;
  resolved.compute = resolved_compute(spec_.compute, EngineChoice::automatic);
  RunDescription description = description_of(FileKind::verdict, resolved, inputs_);
  description.shard_use = ShardUse::growing;
  ExperimentOutput output(description, context_, {}, warnings_);
  if (output.ends_at_plan(outcome)) return outcome;
  if (output.restore(outcome)) {
    write_report(description, outcome);
    return outcome;
  }
  MeasureOptions options = measure_options();
  Stages stages(outcome.stages.size(), options.sweep, output.sweep());
  options.stages = &stages;
  const PositiveControl control = run_positive_control(options.sweep, spec_.compute.seed);
  std::vector<ExperimentRecord> records = {
      judge_world(heads, options, control, description.options_json)};
  if (spec_.control_model) add_control_model(options, records[0]);
  if (spec_.kv_groups) {
    const VerdictWorld groups = world_of(model, UnitKind::kv_group);
    records.push_back(judge_world(groups, options, control, description.options_json));
    records.back().name = "verdict_kv";
  }
  outcome.record = records[0];
  outcome.cells_per_second = stages.runs_per_second();
  output.finish(records, outcome);
  outcome.further_records.assign(records.begin() + 1, records.end());
  write_report(description, outcome);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace

ExperimentResult run_verdict(const VerdictSpec& spec, const ExperimentContext& context) {
  return saying_what_is_kept(spec.output, [&] { return VerdictJob(spec, context).run(); });
}

}  // namespace attnscope
