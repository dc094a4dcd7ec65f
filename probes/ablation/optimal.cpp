#include "optimal.h"

#include <ATen/ATen.h>
#include <c10/core/AutogradState.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "attnscope/support/error.h"
#include "attnscope/support/philox.h"

namespace attnscope {
namespace {

bool less_is_better(MetricChoice metric) {
  return metric == MetricChoice::loss;
}

// The cost of one row; `logits` [q v] of its real tokens.
at::Tensor cost_of(MetricChoice metric, const at::Tensor& logits, const SweepPrompt& prompt) {
  const auto columns = [](const std::vector<std::int64_t>& ids) {
    return at::tensor(ids, at::TensorOptions(at::kLong));
  };
  if (metric == MetricChoice::loss) {
    const std::int64_t n = logits.size(0) - 1;
    const at::Tensor next = columns(prompt.row.ids).narrow(0, 1, n).unsqueeze(1);
    return at::log_softmax(logits.narrow(0, 0, n), -1).gather(1, next).mean().neg();
  }
  at::Tensor sum = at::zeros({}, logits.options());
  const std::vector<int> at = prompt.target.at.empty() ? std::vector<int>{-1} : prompt.target.at;
  for (const int p : at) {
    const at::Tensor row = logits.select(0, p < 0 ? logits.size(0) + p : p);
    if (metric == MetricChoice::log_prob) {
      sum = sum - at::log_softmax(row, -1).index_select(0, columns(prompt.target.answers)).mean();
    } else {
      sum = sum - row.index_select(0, columns(prompt.target.answers)).mean();
      if (!prompt.target.wrongs.empty()) {
        sum = sum + row.index_select(0, columns(prompt.target.wrongs)).mean();
      }
    }
  }
  return sum / static_cast<double>(at.size());
}

// The site's value with the unit's entries := `constant` at every position.
at::Tensor with_constant(const at::Tensor& value, const std::vector<int>& heads,
                         const at::Tensor& constant) {
  if (heads.empty()) return constant.expand_as(value);
  at::Tensor mask = at::zeros({value.size(2)}, at::TensorOptions(at::kBool));
  for (const int head : heads) mask[head] = true;
  if (value.dim() == 3) return at::where(mask, constant, value);  // neurons [b q f]
  at::Tensor full = at::zeros({value.size(2), value.size(3)}, value.options());
  at::Tensor rows =
      full.index_copy(0, at::nonzero(mask).squeeze(1), constant.reshape({-1, value.size(3)}));
  return at::where(mask.unsqueeze(1), rows, value);
}

class Descent {
 public:
  Descent(const Model& model, const UnitSite& site, const std::vector<SweepPrompt>& prompts,
          const OptimalOptions& options)
      : model_(model), site_(site), prompts_(prompts), options_(options) {}

  at::Tensor run(const at::Tensor& start) const {
    const c10::AutoGradMode gradients(true);
    const at::ScalarType type = model_.weight(Role::token_embedding).scalar_type();
    at::Tensor x = start.to(type).clone();
    const double spread = std::max(1e-3, start.abs().mean().item<double>());
    at::Tensor first = at::zeros_like(x);
    at::Tensor second = at::zeros_like(x);
    constexpr double kDecay1 = 0.9;
    constexpr double kDecay2 = 0.999;
    constexpr double kEpsilon = 1e-12;
    for (int step = 1; step <= options_.steps; ++step) {
      if (options_.stop != nullptr && *options_.stop) break;
      const at::Tensor gradient = gradient_at(x, step);
      first = kDecay1 * first + (1 - kDecay1) * gradient;
      second = kDecay2 * second + (1 - kDecay2) * gradient.square();
      const at::Tensor m = first / (1 - std::pow(kDecay1, step));
      const at::Tensor v = second / (1 - std::pow(kDecay2, step));
      x = x - options_.step_size * spread * m / (v.sqrt() + kEpsilon);
    }
    return x;
  }

 private:
  at::Tensor gradient_at(const at::Tensor& x, int step) const {
    at::Tensor leaf = x.detach().clone();
    leaf.set_requires_grad(true);
    std::vector<TokenRow> rows;
    std::vector<const SweepPrompt*> chosen;
    Philox random(options_.seed, static_cast<std::uint64_t>(step));
    const auto n =
        std::min<std::size_t>(prompts_.size(), static_cast<std::size_t>(options_.prompts_a_step));
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t p =
          prompts_.size() <= n ? i : random.below(static_cast<std::uint32_t>(prompts_.size()));
      chosen.push_back(&prompts_[p]);
      rows.push_back(prompts_[p].row);
    }
    const Batch batch = make_batch(rows);
    Taps taps;
    taps.edits[site_.hook] = [&](HookId, const at::Tensor& value, const Batch&) {
      return with_constant(value, site_.heads, leaf);
    };
    const RunResult result =
        model_.run(batch, taps, {.engine = Engine::reference, .gradients = Gradients::on});
    at::Tensor cost;
    for (int r = 0; r < batch.size(); ++r) {
      const at::Tensor row = cost_of(options_.metric, unpadded(result.logits, batch, r),
                                     *chosen[static_cast<std::size_t>(r)]);
      cost = cost.defined() ? cost + row : row;
    }
    (cost / static_cast<double>(batch.size())).backward();
    return leaf.grad().detach();
  }

  const Model& model_;
  const UnitSite& site_;
  const std::vector<SweepPrompt>& prompts_;
  const OptimalOptions& options_;
};

double mean_effect(const SweepResult& result, std::int64_t cell) {
  double sum = 0;
  for (std::int64_t p = 0; p < result.n_prompts; ++p) sum += result.effect(cell, p);
  return sum / static_cast<double>(result.n_prompts);
}

}  // namespace

void check_has_gradient(MetricChoice metric) {
  if (metric == MetricChoice::logit_diff || metric == MetricChoice::log_prob ||
      metric == MetricChoice::loss) {
    return;
  }
  throw Error(ErrorKind::input, "AB31",
              {.where = "--method optimal",
               .what = "the best constant is found by gradients, which this metric does not give",
               .expected = "--metric logit-diff, log-prob or loss"});
}

std::map<std::string, at::Tensor> optimal_constants(const Model& model,
                                                    const std::vector<UnitSet>& sets,
                                                    const std::vector<SweepPrompt>& prompts,
                                                    const MethodValues& values,
                                                    const OptimalOptions& options) {
  check_has_gradient(options.metric);
  std::set<UnitId> units;
  for (const UnitSet& set : sets) {
    for (UnitId unit : set) {
      unit.position = -1;
      units.insert(unit);
    }
  }
  const double sign = less_is_better(options.metric) ? 1 : -1;
  std::map<std::string, at::Tensor> best;
  for (const UnitId& unit : units) {
    const UnitSite site = site_of(unit, model.config());
    const UnitSet alone = {unit};
    const at::Tensor mean =
        ablation_edits(alone, AblationMethod::mean, values, model.config())[0].value;
    const std::vector<at::Tensor> candidates = {
        at::zeros_like(mean), mean, Descent(model, site, prompts, options).run(mean).to(mean)};
    std::vector<Cell> cells;
    for (const at::Tensor& candidate : candidates) {
      Edit edit = {.hook = site.hook,
                   .operation = Operation::set,
                   .source = ValueSource::constant,
                   .heads = site.heads,
                   .value = candidate};
      cells.push_back({unit_name(unit), {edit}});
    }
    const SweepResult result = run_sweep(model, cells, prompts,
                                         {.metric = options.metric,
                                          .verify = 0,
                                          .stop = options.stop,
                                          .stage = "best constant of " + unit_name(unit)});
    std::size_t cheapest = 0;
    for (std::size_t c = 1; c < cells.size(); ++c) {
      const auto cost = [&](std::size_t i) {
        return sign * mean_effect(result, static_cast<std::int64_t>(i));
      };
      if (cost(c) < cost(cheapest)) cheapest = c;
    }
    best[unit_name(unit)] = candidates[cheapest];
  }
  return best;
}

}  // namespace attnscope
