#include "attnscope/probes/verdict_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "attention_ranks.h"
#include "attnscope/support/text.h"
#include "sentences.h"

namespace attnscope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::int64_t count(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

// The head of "5.1" and "kv:5.1"; −1 for other units.
std::int64_t head_of(const std::string& unit) {
  const std::string place = unit.substr(unit.find(':') + 1);  // the whole without a ':'
  const std::vector<std::string> parts = split(place, '.');
  const auto head = parts.size() == 2 ? parse_integer(parts[1]) : std::nullopt;
  return head.value_or(-1);
}

// Builds arrays of one shape from what a function gives for each of their values.
class RecordBuilder {
 public:
  RecordBuilder(const VerdictInput& input, const VerdictResult& result)
      : input_(input), result_(result) {}

  void by_method(const char* name, double (*value)(const UnitMethodResult&)) {
    NamedArray array{name, {"method", "cell"}, {methods(), cells()}, {}};
    for (std::size_t m = 0; m < input_.methods.size(); ++m) {
      for (const UnitResult& unit : result_.units) array.values.push_back(value(unit.methods[m]));
    }
    record.arrays.push_back(std::move(array));
  }

  void by_unit(const char* name, double (*value)(const UnitResult&)) {
    NamedArray array{name, {"cell"}, {cells()}, {}};
    for (const UnitResult& unit : result_.units) array.values.push_back(value(unit));
    record.arrays.push_back(std::move(array));
  }

  void mark(const char* name, std::int64_t (*value)(const UnitResult&)) {
    NamedIntegers array{name, {"cell"}, {cells()}, {}};
    for (const UnitResult& unit : result_.units) array.values.push_back(value(unit));
    record.integers.push_back(std::move(array));
  }

  void by_measure(const char* name, double (*value)(const AttentionResult&)) {
    if (input_.attention.empty()) return;
    NamedArray array{name, {"method", "measure"}, {methods(), count(input_.attention.size())}, {}};
    array.values.assign(input_.methods.size() * input_.attention.size(), kNan);
    for (const AttentionResult& attention : result_.attention) {
      array.values[attention.method * input_.attention.size() + attention.measure] =
          value(attention);
    }
    record.arrays.push_back(std::move(array));
  }

  void mark_of_measure(const char* name, std::int64_t (*value)(const AttentionResult&)) {
    const std::size_t measures = input_.attention.size();
    NamedIntegers array{name, {"method", "measure"}, {methods(), count(measures)}, {}};
    array.values.assign(input_.methods.size() * measures, 0);
    for (const AttentionResult& attention : result_.attention) {
      array.values[attention.method * measures + attention.measure] = value(attention);
    }
    record.integers.push_back(std::move(array));
  }

  void texts(const char* name, const char* axis, std::vector<std::string> values) {
    record.texts.push_back({name, {axis}, {count(values.size())}, std::move(values)});
  }

  void text(const char* name, std::string value) {
    record.texts.push_back({name, {}, {}, {std::move(value)}});
  }

  std::int64_t methods() const { return count(input_.methods.size()); }
  std::int64_t cells() const { return count(input_.units.size()); }

  ExperimentRecord record;

 private:
  const VerdictInput& input_;
  const VerdictResult& result_;
};

std::int64_t level_of(const UnitResult& unit) {
  if (unit.verdict == Verdict::causal) return static_cast<std::int64_t>(VerdictLevel::causal);
  if (unit.verdict == Verdict::no_effect) return static_cast<std::int64_t>(VerdictLevel::no_effect);
  return static_cast<std::int64_t>(unit.backed_up ? VerdictLevel::backed_up
                                                  : VerdictLevel::undetermined);
}

void add_units(const VerdictInput& input, RecordBuilder& builder) {
  NamedIntegers layers{"layers", {"cell"}, {builder.cells()}, {}};
  NamedIntegers heads{"heads", {"cell"}, {builder.cells()}, {}};
  NamedIntegers positions{
      "positions", {"cell"}, {builder.cells()}, std::vector<std::int64_t>(input.units.size(), -1)};
  for (std::size_t u = 0; u < input.units.size(); ++u) {
    layers.values.push_back(input.layers[u]);
    heads.values.push_back(head_of(input.units[u]));
  }
  builder.record.integers = {std::move(layers), std::move(heads), std::move(positions)};
  builder.texts("cells", "cell", input.units);
  std::vector<std::string> names;
  for (const MethodEffects& method : input.methods) names.push_back(method.name);
  builder.texts("methods", "method", std::move(names));
}

void add_effects(const VerdictInput& input, const VerdictResult& result,
                 const std::vector<int>& prompts, RecordBuilder& builder) {
  builder.by_method("effect", [](const UnitMethodResult& r) { return r.total.effect; });
  builder.by_method("ci_low", [](const UnitMethodResult& r) { return r.total.ci.low; });
  builder.by_method("ci_high", [](const UnitMethodResult& r) { return r.total.ci.high; });
  builder.by_method("ci_sim_low", [](const UnitMethodResult& r) { return r.total.ci_sim.low; });
  builder.by_method("ci_sim_high", [](const UnitMethodResult& r) { return r.total.ci_sim.high; });
  builder.by_method("p", [](const UnitMethodResult& r) { return r.total.p; });
  builder.by_method("p_adjusted", [](const UnitMethodResult& r) { return r.total.p_adjusted; });
  builder.by_method("direct", [](const UnitMethodResult& r) { return r.direct; });
  builder.by_method("placebo", [](const UnitMethodResult& r) { return r.placebo; });
  builder.by_method("random_percentile",
                    [](const UnitMethodResult& r) { return r.random_percentile; });
  builder.by_unit("minimal_detectable", [](const UnitResult& r) { return r.minimal_detectable; });
  builder.by_unit("equivalence_p", [](const UnitResult& r) { return r.equivalence_p; });
  builder.by_unit("hidden", [](const UnitResult& r) { return r.largest_hidden; });
  builder.mark("unspecific", [](const UnitResult& r) { return std::int64_t{r.unspecific}; });
  builder.mark("like_random", [](const UnitResult& r) { return std::int64_t{r.like_random}; });
  // Prompts on which an effect could be measured, and those on which it could not.
  const std::vector<std::int64_t> shape{builder.methods(), builder.cells()};
  NamedIntegers n{"n", {"method", "cell"}, shape, {}};
  NamedIntegers undefined{"undefined", {"method", "cell"}, shape, {}};
  const std::size_t all = input.cluster_of_prompt.size();
  for (const MethodEffects& method : input.methods) {
    for (std::size_t u = 0; u < input.units.size(); ++u) {
      const auto missing = std::count_if(prompts.begin(), prompts.end(), [&](int p) {
        return std::isnan(method.total[u * all + static_cast<std::size_t>(p)]);
      });
      n.values.push_back(count(prompts.size()) - missing);
      undefined.values.push_back(missing);
    }
  }
  NamedIntegers kind{"interval_kind", {"method", "cell"}, shape, {}};
  for (std::size_t m = 0; m < input.methods.size(); ++m) {
    for (const UnitResult& unit : result.units) {
      kind.values.push_back(static_cast<std::int64_t>(unit.methods[m].total.interval_kind));
    }
  }
  builder.record.integers.push_back(std::move(kind));
  builder.record.integers.push_back(std::move(n));
  builder.record.integers.push_back(std::move(undefined));
}

// The halves, and the means over both that the rank correlations compare.
void add_ranked(const VerdictInput& input, RecordBuilder& builder) {
  NamedIntegers halves{"half_of_prompt", {"prompt"}, {count(input.cluster_of_prompt.size())}, {}};
  for (const int cluster : input.cluster_of_prompt) {
    const Half half = input.half_of_cluster[static_cast<std::size_t>(cluster)];
    halves.values.push_back(half == Half::selection ? 0 : 1);
  }
  builder.record.integers.push_back(std::move(halves));
  if (input.attention.empty()) return;
  const RankedMeans means = ranked_means(input);
  NamedArray effects{"effect_all", {"method", "cell"}, {builder.methods(), builder.cells()}, {}};
  for (const std::vector<double>& of_method : means.effects) {
    effects.values.insert(effects.values.end(), of_method.begin(), of_method.end());
  }
  NamedArray attention{
      "attention_all", {"cell", "measure"}, {builder.cells(), count(input.attention.size())}, {}};
  for (std::size_t u = 0; u < input.units.size(); ++u) {
    for (const std::vector<double>& of_measure : means.attention) {
      attention.values.push_back(of_measure[u]);
    }
  }
  builder.record.arrays.push_back(std::move(effects));
  builder.record.arrays.push_back(std::move(attention));
}

// Why there is no p, and what the measures are.
void add_notes(const VerdictInput& input, RecordBuilder& builder) {
  std::vector<std::string> measures;
  for (const AttentionMeasure& measure : input.attention) {
    if (!measure.meaning.empty()) measures.push_back(measure.name + ": " + measure.meaning);
  }
  std::vector<std::string> notes = why_no_p(input.metric);
  if (!measures.empty()) {
    notes.emplace_back(
        "Measures of attention are means over the rows that the metric reads and over prompts; the "
        "larger, the louder.");
    notes.insert(notes.end(), measures.begin(), measures.end());
  }
  if (notes.empty()) return;
  builder.texts("notes", "note", std::move(notes));
}

void add_attention(const VerdictInput& input, const std::vector<int>& prompts,
                   RecordBuilder& builder) {
  if (input.attention.empty()) return;
  const std::size_t all = input.cluster_of_prompt.size();
  NamedArray array{
      "attention", {"cell", "measure"}, {builder.cells(), count(input.attention.size())}, {}};
  for (std::size_t u = 0; u < input.units.size(); ++u) {
    for (const AttentionMeasure& measure : input.attention) {
      double sum = 0;
      int defined = 0;
      for (const int p : prompts) {
        const double value = measure.values[u * all + static_cast<std::size_t>(p)];
        if (std::isnan(value)) continue;
        sum += value;
        ++defined;
      }
      array.values.push_back(defined == 0 ? kNan : sum / defined);
    }
  }
  builder.record.arrays.push_back(std::move(array));
  std::vector<std::string> names;
  for (const AttentionMeasure& measure : input.attention) names.push_back(measure.name);
  builder.texts("measures", "measure", std::move(names));
  builder.by_measure("rank_correlation", [](const AttentionResult& r) { return r.tau; });
  builder.by_measure("rank_correlation_low",
                     [](const AttentionResult& r) { return r.interval.low; });
  builder.by_measure("rank_correlation_high",
                     [](const AttentionResult& r) { return r.interval.high; });
  builder.by_measure("rank_correlation_p", [](const AttentionResult& r) { return r.p; });
  builder.mark_of_measure("rank_correlation_shuffles",
                          [](const AttentionResult& r) { return std::int64_t{r.shuffles}; });
  builder.by_measure("rank_ceiling", [](const AttentionResult& r) { return r.ceiling; });
  builder.by_measure("rank_ceiling_low",
                     [](const AttentionResult& r) { return r.ceiling_interval.low; });
  builder.by_measure("rank_ceiling_high",
                     [](const AttentionResult& r) { return r.ceiling_interval.high; });
  builder.by_measure("rank_attainable", [](const AttentionResult& r) { return r.attainable; });
}

std::string names_of(const std::vector<std::size_t>& set, const VerdictInput& input) {
  std::vector<std::string> units;
  for (const std::size_t unit : set) units.push_back(input.units[unit]);
  return join(units, "+");
}

// Random sets like the first of the sets that were removed together.
void add_matched(const VerdictInput& input, const VerdictResult& result, RecordBuilder& builder) {
  const JointEffect& set = input.joint.front();
  if (set.matched.empty()) return;
  std::vector<std::string> names;
  for (const std::vector<std::size_t>& matched : set.matched) {
    names.push_back(names_of(matched, input));
  }
  builder.texts("matched_sets", "matched_set", std::move(names));
  builder.record.arrays.push_back(
      {"matched", {"matched_set"}, {count(set.matched.size())}, set.matched_effects});
  const JointResult& found = result.joint.front();
  builder.record.attributes["matched_p"] = found.matched_p;
  builder.record.attributes["matched_units"] = count(found.matched_units);
  builder.record.attributes["matched_most"] = count(found.matched_most);
}

// Sets of units that were removed together.
void add_joint(const VerdictInput& input, const VerdictResult& result, RecordBuilder& builder) {
  if (result.joint.empty()) return;
  std::vector<std::string> sets;
  NamedArray joint{"joint", {"set"}, {count(result.joint.size())}, {}};
  NamedArray sum = joint, low = joint, high = joint;
  sum.name = "joint_sum";
  low.name = "joint_excess_low";
  high.name = "joint_excess_high";
  for (std::size_t i = 0; i < result.joint.size(); ++i) {
    sets.push_back(names_of(input.joint[i].units, input) + ", " +
                   input.methods[input.joint[i].method].name);
    joint.values.push_back(result.joint[i].joint);
    sum.values.push_back(result.joint[i].sum);
    low.values.push_back(result.joint[i].difference.ci.low);
    high.values.push_back(result.joint[i].difference.ci.high);
  }
  add_matched(input, result, builder);
  builder.texts("joint_sets", "set", std::move(sets));
  for (NamedArray* array : {&joint, &sum, &low, &high}) {
    builder.record.arrays.push_back(std::move(*array));
  }
}

struct Control {
  std::string name, result, detail;
};

Control positive_control(const VerdictInput& input) {
  Control control{"known answer", "reported", "not run"};
  if (input.positive_control == ControlOutcome::passed) {
    control.result = "passed";
    control.detail =
        "a model built to have strong, weak and idle heads got the verdicts it must get";
  } else if (input.positive_control == ControlOutcome::failed) {
    control.result = "failed";
    control.detail = input.positive_control_note;
  }
  return control;
}

Control negative_control(MetricChoice metric, double p) {
  if (!turns_with_answers(metric)) {
    return {"answers swapped", "not run", swap_turns_nothing(metric)};
  }
  if (std::isnan(p)) {
    return {"answers swapped", "reported", "too few groups, or too few finite effects, to tell"};
  }
  return {"answers swapped", p < kNegativeControlAlpha ? "failed" : "passed",
          "with answer and wrong answer swapped by a coin for each group, no effect may be left: "
          "the smallest p of any unit is " +
              number_in_text(p)};
}

// How the causal units compare with random changes of their outputs of the same size.
Control random_control(const VerdictInput& input, const VerdictOptions& options,
                       const VerdictResult& result) {
  std::size_t draws = 0;
  for (const MethodEffects& method : input.methods) {
    draws = std::max(draws, method.random.size() / input.units.size());
  }
  std::size_t causal = 0, compared = 0, above = 0, above_all = 0;
  for (const UnitResult& unit : result.units) {
    if (unit.verdict != Verdict::causal) continue;
    ++causal;
    for (const UnitMethodResult& method : unit.methods) {
      if (std::isnan(method.random_percentile)) continue;
      ++compared;
      above += unit.like_random ? 0 : 1;
      above_all += method.random_percentile == 1 ? 1 : 0;
      break;
    }
  }
  Control control{"random changes", "reported", ""};
  if (!result.withheld.empty()) {
    control.detail = "only for causal units, and the verdicts are withheld";
  } else if (causal == 0) {
    control.detail = "only for causal units, and there are none";
  } else if (compared < causal) {
    control.detail = "not measured for " + std::to_string(causal - compared) + " of " +
                     std::to_string(causal) + " causal units (--controls says how many are drawn)";
  } else {
    control.detail = "removing the unit does more than 95 % of " + std::to_string(draws) +
                     " random changes of its output of the same size for " + std::to_string(above) +
                     " of " + count_of(causal, "causal " + options.unit_noun) +
                     ", more than all of them for " + std::to_string(above_all);
  }
  return control;
}

// Why there are none.
std::string no_matched_sets(const VerdictInput& input, const JointEffect& set) {
  if (set.matched_wanted == 0) return "not asked for (--matched-sets 0)";
  if (!set.matched.empty()) return "the effect of some set is not known";
  std::map<int, int> others, members;
  for (const int layer : input.layers) ++others[layer];
  for (const std::size_t unit : set.units) ++members[input.layers[unit]];
  for (const auto& [layer, wanted] : members) {
    const int left = others[layer] - wanted;
    if (left >= wanted) continue;
    return "none: layer " + std::to_string(layer) + " holds " + std::to_string(wanted) +
           " of the " + std::to_string(set.units.size()) + " strongest and only " +
           std::to_string(left) + " others";
  }
  return "none";
}

Control matched_control(const VerdictInput& input, const VerdictOptions& options,
                        const VerdictResult& result) {
  const JointEffect& set = input.joint.front();
  const JointResult& found = result.joint.front();
  Control control{"matched sets", "reported", ""};
  if (std::isnan(found.matched_p)) {
    control.detail = no_matched_sets(input, set);
    return control;
  }
  const std::string& noun = options.unit_noun;
  control.detail =
      "removing the " + std::to_string(set.units.size()) +
      " strongest together changes the metric by " + number_in_text(found.joint) + " " +
      options.metric_unit + ", " + count_of(set.matched.size(), "random set") + " like them by " +
      number_in_text(found.matched_low) + " to " + number_in_text(found.matched_high) +
      " (median " + number_in_text(found.matched_median) +
      "); p = " + number_in_text(found.matched_p) +
      (found.matched_as_large == 0 ? ", the smallest that so many sets can give" : "") +
      "; the sets hold " + count_of(found.matched_units, "different " + noun) +
      ", the most frequent in " + std::to_string(found.matched_most) + " of " +
      std::to_string(set.matched.size()) + "; the " + std::to_string(set.units.size()) +
      " were picked on the other half";
  return control;
}

void add_controls(const VerdictInput& input, const VerdictOptions& options,
                  const VerdictResult& result, RecordBuilder& builder) {
  std::vector<Control> controls{positive_control(input)};
  controls.push_back(negative_control(input.metric, result.negative_control_p));
  controls.push_back(random_control(input, options, result));
  if (!input.joint.empty()) controls.push_back(matched_control(input, options, result));
  std::vector<std::string> names, results, details;
  for (Control& control : controls) {
    names.push_back(std::move(control.name));
    results.push_back(std::move(control.result));
    details.push_back(std::move(control.detail));
  }
  builder.texts("controls", "control", std::move(names));
  builder.texts("control_results", "control", std::move(results));
  builder.texts("control_details", "control", std::move(details));
}

}  // namespace

ExperimentRecord verdict_record(const VerdictInput& input, const VerdictOptions& options,
                                const VerdictResult& result, const std::string& metric) {
  RecordBuilder builder(input, result);
  builder.record.name = builder.record.kind = file_kind_name(FileKind::verdict);
  builder.record.metric = metric;
  builder.record.noise_floor = options.noise_floor;
  builder.record.attributes = {{"delta", result.delta},
                               {"prompts", count(result.prompts)},
                               {"clusters", count(result.clusters)},
                               {"estimation_prompts", count(result.estimation_prompts)},
                               {"estimation_clusters", count(result.estimation_clusters)},
                               {"negative_control_p", result.negative_control_p}};
  if (!input.attention.empty()) {
    builder.record.attributes["rank_draws"] = std::int64_t{std::min(options.draws, kMostRankDraws)};
  }
  const std::vector<int> prompts =
      prompts_of(Half::estimation, input.half_of_cluster, input.cluster_of_prompt);
  add_units(input, builder);
  add_effects(input, result, prompts, builder);
  add_attention(input, prompts, builder);
  add_ranked(input, builder);
  add_notes(input, builder);
  add_joint(input, result, builder);
  add_controls(input, options, result, builder);
  builder.text("paragraph", result.paragraph);
  if (result.withheld.empty()) {
    builder.mark("verdict", level_of);
  } else {
    builder.text("withheld", join(result.withheld, "; "));
  }
  if (result.picked.strongest) {
    builder.record.attributes["strongest"] = input.units[*result.picked.strongest];
    builder.record.attributes["strongest_rank"] = count(result.picked.strongest_rank);
  }
  return std::move(builder.record);
}

}  // namespace attnscope
