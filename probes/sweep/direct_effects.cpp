#include "attnscope/probes/direct_effects.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <map>
#include <set>

#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/probes/attribution.h"
#include "attnscope/support/error.h"
#include "base_run.h"
#include "edits.h"
#include "plan.h"

namespace attnscope {
namespace {

constexpr std::size_t kPromptsAtOnce = 16;

bool is_supported(Site site) {
  return site == Site::z || site == Site::attn_out || site == Site::mlp_out ||
         site == Site::mlp_post;
}

bool is_attention(Site site) {
  return site == Site::z || site == Site::attn_out;
}

[[noreturn]] void fail_direct(const std::string& where, const std::string& what,
                              const std::string& next = "") {
  throw Error(ErrorKind::input, "SW30", {.where = where, .what = what, .next = next});
}

void check_cell(const Cell& cell, const ModelConfig& config) {
  for (const Edit& edit : cell.edits) {
    if (!is_supported(edit.hook.site) || edit.source == ValueSource::noise) {
      fail_direct(cell.name, "a direct effect is of what heads and MLPs put out");
    }
    const HookId first = cell.edits[0].hook;
    const bool together =
        edit.hook.layer == first.layer && is_attention(edit.hook.site) == is_attention(first.site);
    if (!together && config.placement == NormPlacement::post) {
      fail_direct(cell.name,
                  "direct effects of several layers do not add up in a model with norms after "
                  "the sums",
                  "use --effect total");
    }
  }
}

// The one position of a prompt whose logits are read.
int read_position(const SweepPrompt& prompt, const ModelConfig& config, MetricChoice metric) {
  if (metric == MetricChoice::loss || metric == MetricChoice::embedding_shift) {
    fail_direct("--effect direct", "this metric reads many positions at once",
                "use a metric of single positions, such as logit-diff");
  }
  if (config.head == HeadKind::classifier && config.classifier != ClassifierKind::every_token) {
    return config.classifier == ClassifierKind::last_token ? -1 : 0;
  }
  const std::vector<int>& at = prompt.target.at;
  if (at.size() > 1) {
    fail_direct("--effect direct", "the metric reads several positions of one prompt",
                "name one position with --at");
  }
  return at.empty() ? -1 : at[0];
}

class DirectChunk {
 public:
  DirectChunk(const Model& model, const std::vector<Cell>& cells,
              const std::vector<SweepPrompt>& prompts, const BaseNeeds& needs,
              const std::vector<int>& chunk, const SweepSettings& settings)
      : model_(model),
        cells_(cells),
        prompts_(prompts),
        settings_(settings),
        reads_(read_points(chunk)),
        recorder_(model, reads_),
        base_(run_base(model, prompts, chunk, needs, settings, {&recorder_})),
        reader_(settings.metric, targets(1), model.config()),
        path_(model, recorder_.take(), reader_.request().columns) {}

  void measure(DirectEffects& out) const;

 private:
  const SweepPrompt& prompt(int place) const {
    return prompts_[static_cast<std::size_t>(base_.prompts[static_cast<std::size_t>(place)])];
  }
  std::vector<ReadPoint> read_points(const std::vector<int>& chunk) const {
    std::vector<ReadPoint> points;
    for (const int p : chunk) {
      points.push_back(
          {static_cast<int>(points.size()), read_position(prompts_[static_cast<std::size_t>(p)],
                                                          model_.config(), settings_.metric)});
    }
    return points;
  }
  // Each prompt's target `times` times.
  std::vector<const MetricTarget*> targets(std::int64_t times) const {
    std::vector<const MetricTarget*> list;
    for (int p = 0; p < base_.size(); ++p) {
      list.insert(list.end(), static_cast<std::size_t>(times), &prompt(p).target);
    }
    return list;
  }
  at::Tensor change_of(const Cell& cell, HookId hook) const;
  at::Tensor residual_change(const Cell& cell) const;
  std::vector<MetricValue> read(const at::Tensor& outputs) const;

  const Model& model_;
  const std::vector<Cell>& cells_;
  const std::vector<SweepPrompt>& prompts_;
  const SweepSettings& settings_;
  std::vector<ReadPoint> reads_;
  ReadRecorder recorder_;
  BaseRun base_;
  MetricReader reader_;
  DirectPath path_;
};

// New − old of a hook at the reads, [r 1 …].
at::Tensor DirectChunk::change_of(const Cell& cell, HookId hook) const {
  std::vector<at::Tensor> changes;
  const at::Tensor kept = base_.clean->values().at(hook);
  for (int p = 0; p < base_.size(); ++p) {
    const at::Tensor old = kept.select(0, p);
    const at::Tensor changed = old.clone();
    for (const Edit& edit : cell.edits) {
      if (edit.hook == hook && exists_on(cell, prompt(p))) {
        apply_edit(changed, edit, prompt(p), base_, p);
      }
    }
    const int at = reads_[static_cast<std::size_t>(p)].position;
    const std::int64_t slot = at < 0 ? old.size(0) + at : at;
    changes.push_back((changed.select(0, slot) - old.select(0, slot)).unsqueeze(0));
  }
  return at::stack(changes);
}

// What the cell adds to the residual stream at the reads, [r 1 m].
at::Tensor DirectChunk::residual_change(const Cell& cell) const {
  std::set<HookId> hooks;
  for (const Edit& edit : cell.edits) hooks.insert(edit.hook);
  at::Tensor sum;
  for (const HookId hook : hooks) {
    at::Tensor change = change_of(cell, hook);
    if (hook.site == Site::z) change = path_.attn_out_change(hook.layer, change).sum(2);
    if (hook.site == Site::mlp_post) change = path_.mlp_out_change(hook.layer, change);
    sum = sum.defined() ? sum + change : change;
  }
  return sum;
}

// `outputs` [r n c] by row, prompt after prompt.
std::vector<MetricValue> DirectChunk::read(const at::Tensor& outputs) const {
  const std::int64_t times = outputs.size(1);
  const MetricReader reader(settings_.metric, targets(times), model_.config());
  RunResult result;
  result.logits = outputs.flatten(0, 1).unsqueeze(1);
  std::vector<const at::Tensor*> compared;
  for (const at::Tensor& clean : base_.compared) {
    compared.insert(compared.end(), static_cast<std::size_t>(times),
                    clean.defined() ? &clean : nullptr);
  }
  return reader.read(result, base_.keys->batch, compared);
}

void DirectChunk::measure(DirectEffects& out) const {
  const std::vector<MetricValue> clean = read(path_.outputs().unsqueeze(1));
  // Cells that enter the stream at the same place go through the head together.
  std::map<std::pair<int, bool>, std::vector<std::size_t>> by_place;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const HookId hook = cells_[i].edits[0].hook;
    by_place[{hook.layer, is_attention(hook.site)}].push_back(i);
  }
  for (const auto& [place, list] : by_place) {
    std::vector<at::Tensor> changes;
    for (const std::size_t i : list) changes.push_back(residual_change(cells_[i]));
    const ResidualPart part = place.second ? ResidualPart::attn_out : ResidualPart::mlp_out;
    const at::Tensor change = at::cat(changes, 1);  // [r n m]
    // Heads with a hidden layer give rows of another number other bits: no change is no effect.
    const at::Tensor moves = (change != 0).any(-1).cpu();
    const at::Tensor outputs = path_.outputs_after(place.first, part, change);
    const std::vector<MetricValue> values = read(outputs);
    for (std::size_t p = 0; p < base_.prompts.size(); ++p) {
      for (std::size_t n = 0; n < list.size(); ++n) {
        if (!exists_on(cells_[list[n]], prompt(static_cast<int>(p)))) continue;
        const bool moved = moves.const_data_ptr<bool>()[p * list.size() + n];
        const MetricValue& value = moved ? values[p * list.size() + n] : clean[p];
        const std::size_t at =
            list[n] * prompts_.size() + static_cast<std::size_t>(base_.prompts[p]);
        out.effects[at] = value.value - clean[p].value;
        if (!out.placebo_effects.empty()) {
          out.placebo_effects[at] = value.placebo - clean[p].placebo;
        }
      }
    }
  }
}

}  // namespace

void check_direct_effects(const ModelConfig& config, const std::vector<Cell>& cells,
                          const std::vector<SweepPrompt>& prompts, MetricChoice metric) {
  for (const Cell& cell : cells) check_cell(cell, config);
  for (const SweepPrompt& prompt : prompts) read_position(prompt, config, metric);
}

DirectEffects direct_effects(const Model& model, const std::vector<Cell>& cells,
                             const std::vector<SweepPrompt>& prompts,
                             const SweepSettings& settings) {
  return at_boundary("direct effects", [&] {
    const OneComputeThread alone;
    const c10::InferenceMode inference;
    BaseNeeds needs;
    std::size_t donors = 0;
    check_direct_effects(model.config(), cells, prompts, settings.metric);
    for (const Cell& cell : cells) {
      for (const Edit& edit : cell.edits) {
        needs.clean.insert(edit.hook);
        if (edit.source != ValueSource::donor) continue;
        donors = std::max(donors, static_cast<std::size_t>(edit.donor) + 1);
        needs.donor.resize(donors);
        needs.donor[static_cast<std::size_t>(edit.donor)].insert(edit.hook);
      }
    }
    DirectEffects out;
    out.effects.assign(cells.size() * prompts.size(), kNotMeasured);
    const bool placebo = std::any_of(prompts.begin(), prompts.end(), [](const SweepPrompt& p) {
      return !p.target.placebo_answers.empty();
    });
    if (placebo) out.placebo_effects = out.effects;
    std::map<std::size_t, std::vector<int>> by_length;
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      by_length[prompts[p].row.ids.size()].push_back(static_cast<int>(p));
    }
    for (const auto& [length, list] : by_length) {
      for (std::size_t begin = 0; begin < list.size(); begin += kPromptsAtOnce) {
        const auto first = list.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = list.begin() + static_cast<std::ptrdiff_t>(
                                             std::min(list.size(), begin + kPromptsAtOnce));
        DirectChunk(model, cells, prompts, needs, {first, last}, settings).measure(out);
      }
    }
    return out;
  });
}

}  // namespace attnscope
