#include "measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnscope/probes/direct_effects.h"
#include "attnscope/stats/matching.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

constexpr std::size_t kStages = 4;

// Mean of the effects of one cell.
double mean_of_row(const SweepResult& result, std::size_t cell) {
  const auto begin = result.effects.begin() + static_cast<std::ptrdiff_t>(cell) * result.n_prompts;
  return std::accumulate(begin, begin + result.n_prompts, 0.0) /
         static_cast<double>(result.n_prompts);
}

class Measurer {
 public:
  Measurer(const VerdictWorld& world, const MeasureOptions& options)
      : world_(world),
        options_(options),
        n_prompts_(world.prompts.size()),
        own_stages_(kStages, options.sweep, nullptr),
        stages_(options.stages == nullptr ? own_stages_ : *options.stages) {}

  VerdictMeasurement run();

 private:
  std::size_t units() const { return world_.units.size(); }
  std::vector<Edit> edits(std::size_t method, std::size_t unit) const {
    return ablation_edits(world_.units[unit], options_.methods[method], values_,
                          world_.model.config());
  }
  Cell cell_of(std::size_t method, const std::vector<std::size_t>& list) const {
    Cell cell;
    for (const std::size_t unit : list) {
      cell.name += (cell.name.empty() ? "" : "+") + unit_set_name(world_.units[unit]);
      for (Edit& edit : edits(method, unit)) cell.edits.push_back(std::move(edit));
    }
    cell.name += " (" + choice_name(options_.methods[method]) + ")";
    return cell;
  }
  std::vector<TokenRow> reference_rows() const;
  void check_delta() const;
  void measure_totals();
  void check_baselines(const std::vector<double>& corrupt) const;
  void find_delta();
  void estimate();
  void measure_conditional();
  void measure_random();
  void measure_joint();
  std::vector<SweepPrompt> estimation_prompts() const {
    std::vector<SweepPrompt> prompts;
    for (const int p : estimation_) prompts.push_back(world_.prompts[static_cast<std::size_t>(p)]);
    return prompts;
  }
  double mean_over(Half half, const std::vector<double>& values, std::size_t row) const;
  std::vector<std::size_t> strongest(Half half) const;
  std::vector<std::vector<std::size_t>> matched_to(const std::vector<std::size_t>& target) const;

  const VerdictWorld& world_;
  const MeasureOptions& options_;
  std::size_t n_prompts_;
  Stages own_stages_;
  Stages& stages_;
  MethodValues values_;
  std::vector<double> traits_;   // [unit, kTraits]
  std::vector<int> estimation_;  // prompts of the estimation half
  VerdictMeasurement out_;
};

double Measurer::mean_over(Half half, const std::vector<double>& values, std::size_t row) const {
  double sum = 0;
  int count = 0;
  for (std::size_t p = 0; p < n_prompts_; ++p) {
    if (world_.halves[static_cast<std::size_t>(world_.clusters[p])] != half) continue;
    sum += values[row * n_prompts_ + p];
    ++count;
  }
  return count == 0 ? kNotMeasured : sum / count;
}

// Corrupt prompts of the selection half, or clean ones where there are none.
std::vector<TokenRow> Measurer::reference_rows() const {
  std::vector<TokenRow> rows;
  for (std::size_t p = 0; p < n_prompts_; ++p) {
    const Half half = world_.halves[static_cast<std::size_t>(world_.clusters[p])];
    if (half != Half::selection) continue;
    const SweepPrompt& prompt = world_.prompts[p];
    rows.push_back(world_.has_corrupt ? prompt.donors[0] : prompt.row);
  }
  return rows;
}

void Measurer::measure_totals() {
  const bool means =
      std::any_of(options_.methods.begin(), options_.methods.end(), [](AblationMethod method) {
        return method == AblationMethod::mean || method == AblationMethod::mean_pos;
      });
  const bool by_position = std::find(options_.methods.begin(), options_.methods.end(),
                                     AblationMethod::mean_pos) != options_.methods.end();
  if (means) {
    const std::vector<TokenRow> rows = reference_rows();
    // One half may be of one length and the other half of another.
    if (by_position) check_equal_lengths(world_.prompts, rows);
    values_.means = reference_means(
        world_.model, rows, hooks_of(world_.units, world_.model.config()),
        by_position ? PositionMeans::on : PositionMeans::off, options_.sweep.engine);
  }
  std::vector<Cell> cells;
  for (std::size_t m = 0; m < options_.methods.size(); ++m) {
    for (std::size_t u = 0; u < units(); ++u) cells.push_back(cell_of(m, {u}));
  }
  out_.totals = stages_.run({total_stage(world_), options_.sweep.verify}, world_.model, cells,
                            world_.prompts);
  const DirectEffects direct = direct_effects(world_.model, cells, world_.prompts, options_.sweep);
  const auto size = static_cast<std::ptrdiff_t>(units() * n_prompts_);
  for (std::size_t m = 0; m < options_.methods.size(); ++m) {
    const auto part = [&](const std::vector<double>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(m) * size;
      return all.empty() ? std::vector<double>{} : std::vector<double>(begin, begin + size);
    };
    out_.input.methods.push_back({.name = choice_name(options_.methods[m]),
                                  .total = part(out_.totals.effects),
                                  .direct = part(direct.effects),
                                  .placebo = part(out_.totals.placebo_effects),
                                  .random = {}});
  }
}

[[noreturn]] void fail_delta() {
  throw Error(ErrorKind::input, "VD10",
              {.where = "--delta",
               .what = "the smallest effect of interest cannot be derived: there are no corrupt "
                       "prompts, or they do not differ in the metric",
               .next = "give it, in units of the metric"});
}

// Known before anything is measured.
void Measurer::check_delta() const {
  const MetricChoice metric = options_.sweep.metric;
  const bool logits = metric == MetricChoice::logit_diff || metric == MetricChoice::label_logit;
  if (!options_.delta && !world_.has_corrupt && !logits) fail_delta();
}

// Names the prompts on which the metric is no number.
void Measurer::check_baselines(const std::vector<double>& corrupt) const {
  std::size_t count = 0;
  std::string first;
  for (std::size_t p = 0; p < n_prompts_; ++p) {
    const bool known =
        std::isfinite(out_.totals.baseline[p]) && (corrupt.empty() || std::isfinite(corrupt[p]));
    if (known) continue;
    if (count == 0 && !world_.places.empty()) first = ", the first is " + world_.places[p];
    ++count;
  }
  if (count == 0) return;
  throw Error(ErrorKind::input, "VD13",
              {.where = "--metric " + choice_name(options_.sweep.metric),
               .what = "NaN or infinite on " + std::to_string(count) + " of " +
                       count_of(n_prompts_, "prompt") + first +
                       ", so that no smallest effect of interest can be derived from it",
               .next = "--strict names a tensor that holds NaN; with --delta such effects are "
                       "stored as NaN and counted, and the verdict is withheld"});
}

void Measurer::find_delta() {
  if (options_.delta) {
    out_.delta = *options_.delta;
    return;
  }
  std::vector<double> corrupt;
  if (world_.has_corrupt) corrupt = out_.totals.donor_baseline;
  const std::optional<double> delta =
      default_delta(out_.totals.baseline, corrupt, world_.clusters, world_.halves);
  if (!delta) {
    check_baselines(corrupt);
    fail_delta();
  }
  out_.delta = *delta;
}

void Measurer::estimate() {
  out_.estimates = estimate_totals(out_.input, {.delta = out_.delta,
                                                .seed = options_.sweep.seed,
                                                .draws = options_.resamples,
                                                .threads = options_.sweep.workers});
}

// On the estimation half, which is all that the rule reads of them.
void Measurer::measure_conditional() {
  const std::vector<std::size_t> given_units = units_to_condition_on(
      out_.input, std::min<std::size_t>(static_cast<std::size_t>(options_.conditions), units()));
  struct Place {
    std::size_t condition, unit;  // condition: place in out_.input.conditional
  };
  const std::vector<bool> may_be_none = units_without_total(out_.input, out_.delta);
  std::vector<Cell> cells;
  std::vector<Place> places;
  for (std::size_t m = 0; m < options_.methods.size(); ++m) {
    for (const std::size_t given : given_units) {
      ConditionalEffects effects = {.method = m, .given = given, .values = {}};
      effects.values.assign(units() * n_prompts_, kNotMeasured);
      for (std::size_t u = 0; u < units(); ++u) {
        if (u == given || !may_be_none[u]) continue;
        cells.push_back(cell_of(m, {given, u}));
        places.push_back({out_.input.conditional.size(), u});
      }
      out_.input.conditional.push_back(std::move(effects));
    }
  }
  const SweepResult both =
      stages_.run({conditional_stage(world_)}, world_.model, cells, estimation_prompts());
  for (std::size_t c = 0; c < places.size(); ++c) {
    ConditionalEffects& effects = out_.input.conditional[places[c].condition];
    const std::vector<double>& alone = out_.input.methods[effects.method].total;
    for (std::size_t i = 0; i < estimation_.size(); ++i) {
      const auto p = static_cast<std::size_t>(estimation_[i]);
      effects.values[places[c].unit * n_prompts_ + p] =
          both.effects[c * estimation_.size() + i] - alone[effects.given * n_prompts_ + p];
    }
  }
}

// Units by |mean effect| under the first method, the largest first; without those where it is NaN.
std::vector<std::size_t> Measurer::strongest(Half half) const {
  std::vector<double> size(units());
  for (std::size_t u = 0; u < units(); ++u) {
    size[u] = std::abs(mean_over(half, out_.input.methods[0].total, u));
  }
  std::vector<std::size_t> order(units());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t u) { return std::isnan(size[u]); });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  return order;
}

// A random change of the output as large as the one that the removal makes, for every unit that
// comes out causal, under the first method by which it does.
void Measurer::measure_random() {
  if (options_.random_draws == 0) return;
  const auto draws = static_cast<std::size_t>(options_.random_draws);
  const std::vector<CausalUnit> chosen = causal_units(out_.estimates, out_.delta);
  std::vector<Cell> cells;
  for (const CausalUnit& unit : chosen) {
    for (std::size_t draw = 0; draw < draws; ++draw) {
      Cell cell = cell_of(unit.method, {unit.unit});
      cell.name += " draw " + std::to_string(draw);
      cell.edits.push_back({.hook = {Site::attn_out, cell.edits[0].hook.layer},
                            .operation = Operation::add,
                            .source = ValueSource::noise,
                            .stream = static_cast<std::uint64_t>(draw)});
      cells.push_back(std::move(cell));
    }
  }
  const SweepResult result =
      stages_.run({random_stage(world_)}, world_.model, cells, estimation_prompts());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::vector<double>& random = out_.input.methods[chosen[i].method].random;
    random.resize(units() * draws, kNotMeasured);
    for (std::size_t draw = 0; draw < draws; ++draw) {
      random[chosen[i].unit * draws + draw] = mean_of_row(result, i * draws + draw);
    }
  }
}

// Different ones; fewer than asked for where there are not as many.
std::vector<std::vector<std::size_t>> Measurer::matched_to(
    const std::vector<std::size_t>& target) const {
  constexpr int kDrawsOfASet = 50;
  const std::vector<int> members(target.begin(), target.end());
  std::vector<std::vector<std::size_t>> sets;
  for (const std::vector<int>& drawn :
       matched_sets(members, out_.input.layers, traits_,
                    {.sets = kDrawsOfASet * options_.matched_sets, .seed = options_.sweep.seed})) {
    std::vector<std::size_t> set(drawn.begin(), drawn.end());
    if (std::find(sets.begin(), sets.end(), set) != sets.end()) continue;
    sets.push_back(std::move(set));
    if (sets.size() == static_cast<std::size_t>(options_.matched_sets)) break;
  }
  return sets;
}

void Measurer::measure_joint() {
  std::vector<std::size_t> top = strongest(Half::selection);
  top.resize(std::min(top.size(), static_cast<std::size_t>(options_.joint_units)));
  if (top.size() < 2) return;
  std::sort(top.begin(), top.end());
  JointEffect joint = {.method = 0, .units = top, .values = {}};
  joint.matched_wanted = static_cast<std::size_t>(options_.matched_sets);
  if (joint.matched_wanted > 0) joint.matched = matched_to(top);
  std::vector<Cell> cells = {cell_of(0, top)};
  for (const std::vector<std::size_t>& set : joint.matched) cells.push_back(cell_of(0, set));
  const SweepResult result =
      stages_.run({joint_stage(world_)}, world_.model, cells, estimation_prompts());
  joint.values.assign(n_prompts_, kNotMeasured);
  for (std::size_t i = 0; i < estimation_.size(); ++i) {
    joint.values[static_cast<std::size_t>(estimation_[i])] = result.effects[i];
  }
  for (std::size_t s = 0; s < joint.matched.size(); ++s) {
    joint.matched_effects.push_back(mean_of_row(result, s + 1));
  }
  out_.input.joint.push_back(std::move(joint));
}

VerdictMeasurement Measurer::run() {
  VerdictInput& input = out_.input;
  input.metric = options_.sweep.metric;
  for (const UnitSet& unit : world_.units) {
    input.units.push_back(unit_set_name(unit));
    input.layers.push_back(unit.front().layer);
  }
  input.cluster_of_prompt = world_.clusters;
  input.half_of_cluster = world_.halves;
  estimation_ = prompts_of(Half::estimation, world_.halves, world_.clusters);
  check_delta();
  UnitAttention attention = measure_attention(world_, options_.sweep.engine);
  input.attention = std::move(attention.measures);
  traits_ = std::move(attention.traits);
  measure_totals();
  find_delta();
  estimate();
  measure_conditional();
  measure_random();
  measure_joint();
  return std::move(out_);
}

}  // namespace

VerdictMeasurement measure_verdict(const VerdictWorld& world, const MeasureOptions& options) {
  return Measurer(world, options).run();
}

}  // namespace attnscope
