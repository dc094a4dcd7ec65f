#include "measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnscope/probes/direct_effects.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

class Measurer {
 public:
  Measurer(const VerdictWorld& world, const MeasureOptions& options)
      : world_(world), options_(options), n_prompts_(world.prompts.size()) {}

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
    return cell;
  }
  // Settings of the sweeps behind the first one.
  SweepSettings further() const {
    SweepSettings settings = options_.sweep;
    settings.store = nullptr;
    settings.verify = 0;
    return settings;
  }
  std::vector<TokenRow> reference_rows() const;
  void measure_totals();
  void find_delta();
  void measure_conditional();
  void measure_random();
  void measure_joint();
  std::vector<SweepPrompt> estimation_prompts(const std::vector<int>& indices) const {
    std::vector<SweepPrompt> prompts;
    for (const int p : indices) prompts.push_back(world_.prompts[static_cast<std::size_t>(p)]);
    return prompts;
  }
  double mean_over(Half half, const std::vector<double>& values, std::size_t row) const;
  bool could_be_none(std::size_t unit) const;
  std::vector<std::size_t> strongest(Half half) const;

  const VerdictWorld& world_;
  const MeasureOptions& options_;
  std::size_t n_prompts_;
  MethodValues values_;
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
    values_.means = reference_means(
        world_.model, reference_rows(), hooks_of(world_.units, world_.model.config()),
        by_position ? PositionMeans::on : PositionMeans::off, options_.sweep.engine);
  }
  std::vector<Cell> cells;
  for (std::size_t m = 0; m < options_.methods.size(); ++m) {
    for (std::size_t u = 0; u < units(); ++u) cells.push_back(cell_of(m, {u}));
  }
  out_.totals = run_sweep(world_.model, cells, world_.prompts, options_.sweep);
  const DirectEffects direct = direct_effects(world_.model, cells, world_.prompts, further());
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

void Measurer::find_delta() {
  if (options_.delta) {
    out_.delta = *options_.delta;
    return;
  }
  std::vector<double> corrupt;
  if (world_.has_corrupt) corrupt = out_.totals.donor_baseline;
  const MetricChoice metric = options_.sweep.metric;
  const bool logits = metric == MetricChoice::logit_diff || metric == MetricChoice::label_logit;
  std::optional<double> delta;
  if (world_.has_corrupt || logits) {
    delta = default_delta(out_.totals.baseline, corrupt, world_.clusters, world_.halves);
  }
  if (!delta) {
    throw Error(ErrorKind::input, "VD10",
                {.where = "--delta",
                 .what = "the smallest effect of interest cannot be derived: there are no corrupt "
                         "prompts, they do not differ in the metric, or it is NaN on one of them",
                 .next = "give it, in units of the metric"});
  }
  out_.delta = *delta;
}

// Whether a mean effect lies within ±δ under every method; else no test can call it none.
bool Measurer::could_be_none(std::size_t unit) const {
  return std::all_of(
      out_.input.methods.begin(), out_.input.methods.end(), [&](const MethodEffects& method) {
        return std::abs(mean_over(Half::estimation, method.total, unit)) < out_.delta;
      });
}

// On the estimation half, which is all that the rule reads of them.
void Measurer::measure_conditional() {
  const std::vector<int> indices = prompts_of(Half::estimation, world_.halves, world_.clusters);
  const std::vector<SweepPrompt> estimation = estimation_prompts(indices);
  const std::vector<std::size_t> given_units = units_to_condition_on(
      out_.input, std::min<std::size_t>(static_cast<std::size_t>(options_.conditions), units()));
  for (std::size_t m = 0; m < options_.methods.size(); ++m) {
    std::vector<Cell> cells;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // given, unit
    for (const std::size_t given : given_units) {
      for (std::size_t u = 0; u < units(); ++u) {
        if (u == given || !could_be_none(u)) continue;
        cells.push_back(cell_of(m, {given, u}));
        places.emplace_back(given, u);
      }
    }
    SweepResult joint;
    if (!cells.empty()) joint = run_sweep(world_.model, cells, estimation, further());
    for (const std::size_t given : given_units) {
      ConditionalEffects effects = {.method = m, .given = given, .values = {}};
      effects.values.assign(units() * n_prompts_, kNotMeasured);
      for (std::size_t c = 0; c < places.size(); ++c) {
        if (places[c].first != given) continue;
        for (std::size_t i = 0; i < indices.size(); ++i) {
          const auto p = static_cast<std::size_t>(indices[i]);
          effects.values[places[c].second * n_prompts_ + p] =
              joint.effects[c * indices.size() + i] -
              out_.input.methods[m].total[given * n_prompts_ + p];
        }
      }
      out_.input.conditional.push_back(std::move(effects));
    }
  }
}

// Units by |mean effect| under the first method, the largest first.
std::vector<std::size_t> Measurer::strongest(Half half) const {
  std::vector<double> size(units());
  for (std::size_t u = 0; u < units(); ++u) {
    size[u] = std::abs(mean_over(half, out_.input.methods[0].total, u));
  }
  std::vector<std::size_t> order(units());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  return order;
}

void Measurer::measure_random() {
  if (options_.random_draws == 0) return;
  std::vector<std::size_t> chosen = strongest(Half::selection);
  chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(options_.random_units)));
  std::erase_if(chosen, [&](std::size_t unit) {
    return std::abs(mean_over(Half::estimation, out_.input.methods[0].total, unit)) < out_.delta;
  });
  const std::vector<SweepPrompt> prompts =
      estimation_prompts(prompts_of(Half::estimation, world_.halves, world_.clusters));
  if (chosen.empty() || prompts.empty()) return;
  std::vector<Cell> cells;
  for (const std::size_t unit : chosen) {
    for (int draw = 0; draw < options_.random_draws; ++draw) {
      Cell cell = cell_of(0, {unit});
      cell.edits.push_back({.hook = {Site::attn_out, cell.edits[0].hook.layer},
                            .operation = Operation::add,
                            .source = ValueSource::noise,
                            .stream = static_cast<std::uint64_t>(draw)});
      cells.push_back(std::move(cell));
    }
  }
  const SweepResult result = run_sweep(world_.model, cells, prompts, further());
  const auto draws = static_cast<std::size_t>(options_.random_draws);
  std::vector<double>& random = out_.input.methods[0].random;
  random.assign(units() * draws, kNotMeasured);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (std::size_t draw = 0; draw < draws; ++draw) {
      double sum = 0;
      for (std::size_t p = 0; p < prompts.size(); ++p) {
        sum += result.effects[(i * draws + draw) * prompts.size() + p];
      }
      random[chosen[i] * draws + draw] = sum / static_cast<double>(prompts.size());
    }
  }
}

void Measurer::measure_joint() {
  std::vector<std::size_t> top = strongest(Half::selection);
  top.resize(std::min(top.size(), static_cast<std::size_t>(options_.joint_units)));
  if (top.size() < 2) return;
  std::sort(top.begin(), top.end());
  const SweepResult result = run_sweep(world_.model, {cell_of(0, top)}, world_.prompts, further());
  out_.input.joint.push_back({.method = 0, .units = top, .values = result.effects});
}

VerdictMeasurement Measurer::run() {
  VerdictInput& input = out_.input;
  for (const UnitSet& unit : world_.units) {
    input.units.push_back(unit_set_name(unit));
    input.layers.push_back(unit.front().layer);
  }
  input.cluster_of_prompt = world_.clusters;
  input.half_of_cluster = world_.halves;
  measure_totals();
  find_delta();
  measure_conditional();
  measure_random();
  measure_joint();
  input.attention = measure_attention(world_, options_.sweep.engine);
  return std::move(out_);
}

}  // namespace

VerdictMeasurement measure_verdict(const VerdictWorld& world, const MeasureOptions& options) {
  return Measurer(world, options).run();
}

}  // namespace attnscope
