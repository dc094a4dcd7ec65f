#include "path.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "attnscope/capture/memory_sink.h"
#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/support/commit.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

constexpr std::size_t kPromptsAtOnce = 16;

using Values = std::map<HookId, at::Tensor>;

HookId output_hook(const UnitId& unit) {
  switch (unit.kind) {
    case UnitKind::head:
      return {Site::z, unit.layer};
    case UnitKind::mlp:
      return {Site::mlp_out, unit.layer};
    case UnitKind::attention:
      return {Site::attn_out, unit.layer};
    case UnitKind::kv_group:
    case UnitKind::neuron:
      break;
  }
  throw Error(ErrorKind::input, "PT13",
              {.where = unit_name(unit),
               .what = "this unit cannot send",
               .expected = "heads (5.1), MLPs (mlp:5) or the attention of a layer (attn:5)"});
}

// Where a receiver's input is kept and replaced.
std::vector<HookId> input_hooks(const ReceiverId& receiver, const ModelConfig& config) {
  switch (receiver.kind) {
    case ReceiverKind::q:
      return {{Site::q, receiver.layer}};
    case ReceiverKind::k:
      return {{Site::k, receiver.layer}};
    case ReceiverKind::v:
      return {{Site::v, receiver.layer}};
    case ReceiverKind::mlp:
      if (config.mlp == MlpKind::gated) {
        return {{Site::mlp_pre, receiver.layer}, {Site::mlp_pre_linear, receiver.layer}};
      }
      return {{Site::mlp_pre, receiver.layer}};
    case ReceiverKind::logits:
      break;
  }
  return {};
}

class PathRunner {
 public:
  PathRunner(const Model& model, const std::vector<UnitSet>& senders,
             const std::vector<ReceiverId>& receivers, const std::vector<SweepPrompt>& prompts,
             const PathOptions& options)
      : model_(model),
        senders_(senders),
        receivers_(receivers),
        prompts_(prompts),
        options_(options),
        differs_(senders.size(), false) {
    check_paths(model.config(), senders, receivers);
  }

  PathEffects run() {
    PathEffects out;
    out.effects.assign(senders_.size() * prompts_.size(), kNotMeasured);
    out.baseline.assign(prompts_.size(), kNotMeasured);
    std::map<std::size_t, std::vector<std::size_t>> by_length;
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      by_length[prompts_[p].row.ids.size()].push_back(p);
    }
    for (const auto& [length, list] : by_length) {
      for (std::size_t begin = 0; begin < list.size(); begin += kPromptsAtOnce) {
        const std::size_t end = std::min(list.size(), begin + kPromptsAtOnce);
        run_chunk({list.begin() + static_cast<std::ptrdiff_t>(begin),
                   list.begin() + static_cast<std::ptrdiff_t>(end)},
                  out);
      }
    }
    check_senders();
    return out;
  }

 private:
  bool to_logits() const { return receivers_[0].kind == ReceiverKind::logits; }
  void check_senders() const;
  void run_chunk(const std::vector<std::size_t>& chunk, PathEffects& out);
  std::vector<MetricValue> metric(const MetricReader& reader, const RunResult& result,
                                  const Batch& batch) const {
    return reader.read(result, batch, compared_);
  }
  void send(const UnitSet& sender, const Values& donor, Taps& taps) const;
  Values receive(const UnitSet& sender, const Values& donor, const Values& clean,
                 const Batch& batch, const RunOptions& run_options, RunResult& result) const;
  RunResult replay(const Values& inputs, const Batch& batch, const RunOptions& run_options) const;

  const Model& model_;
  const std::vector<UnitSet>& senders_;
  const std::vector<ReceiverId>& receivers_;
  const std::vector<SweepPrompt>& prompts_;
  const PathOptions& options_;
  std::vector<bool> differs_;  // by sender: its output in A is another than in B
  std::vector<const at::Tensor*> compared_;
};

void PathRunner::check_senders() const {
  for (std::size_t s = 0; s < senders_.size(); ++s) {
    if (differs_[s]) continue;
    throw Error(ErrorKind::input, "PT10",
                {.where = "--senders",
                 .what = unit_set_name(senders_[s]) +
                         " puts out the same in both runs of every pair, so nothing is patched",
                 .next = "give corrupt prompts that change what it reads"});
  }
}

// The sender's output := that of the donor.
void PathRunner::send(const UnitSet& sender, const Values& donor, Taps& taps) const {
  for (const UnitId& unit : sender) {
    const HookId hook = output_hook(unit);
    Intervention change = {.hook = hook, .operation = Operation::set, .value = donor.at(hook)};
    if (unit.kind == UnitKind::head) change.heads = {unit.index};
    if (unit.position >= 0) change.q_positions = {unit.position};
    taps.interventions.push_back(std::move(change));
  }
}

// Pass C.
Values PathRunner::receive(const UnitSet& sender, const Values& donor, const Values& clean,
                           const Batch& batch, const RunOptions& run_options,
                           RunResult& result) const {
  Taps taps;
  Values inputs;
  std::set<HookId> wanted;
  for (const ReceiverId& receiver : receivers_) {
    for (const HookId hook : input_hooks(receiver, model_.config())) wanted.insert(hook);
  }
  for (int l = 0; l < model_.config().n_layers; ++l) {
    for (const Site site : {Site::q, Site::k, Site::v}) {
      const HookId hook = {site, l};
      taps.edits[hook] = [&, hook](HookId, const at::Tensor& value, const Batch&) {
        if (wanted.contains(hook)) inputs[hook] = value;
        return clean.at(hook);
      };
    }
    if (options_.mlps == FrozenMlps::off || model_.config().mlp == MlpKind::none) continue;
    // A sending MLP is overwritten below, at the positions it sends from.
    taps.interventions.push_back({.hook = {Site::mlp_out, l},
                                  .operation = Operation::set,
                                  .value = clean.at({Site::mlp_out, l})});
  }
  send(sender, donor, taps);
  std::set<HookId> of_mlps;
  for (const HookId hook : wanted) {
    if (hook.site == Site::mlp_pre || hook.site == Site::mlp_pre_linear) of_mlps.insert(hook);
  }
  MemorySink keeper(of_mlps);
  taps.observers = {&keeper};
  result = model_.run(batch, taps, run_options);
  inputs.insert(keeper.values().begin(), keeper.values().end());
  return inputs;
}

// Pass D.
RunResult PathRunner::replay(const Values& inputs, const Batch& batch,
                             const RunOptions& run_options) const {
  Taps taps;
  for (const ReceiverId& receiver : receivers_) {
    for (const HookId hook : input_hooks(receiver, model_.config())) {
      Intervention change = {.hook = hook, .operation = Operation::set, .value = inputs.at(hook)};
      if (receiver.kind != ReceiverKind::mlp) change.heads = {receiver.index};
      taps.interventions.push_back(std::move(change));
    }
  }
  return model_.run(batch, taps, run_options);
}

void PathRunner::run_chunk(const std::vector<std::size_t>& chunk, PathEffects& out) {
  std::vector<TokenRow> rows;
  std::vector<TokenRow> donor_rows;
  std::vector<const MetricTarget*> targets;
  for (const std::size_t p : chunk) {
    rows.push_back(prompts_[p].row);
    donor_rows.push_back(prompts_[p].donors.at(0));
    targets.push_back(&prompts_[p].target);
  }
  const Batch batch = make_batch(rows);
  const MetricReader reader(options_.metric, targets, model_.config());
  const RunOptions with_logits = {.engine = options_.engine, .logits = reader.request()};

  std::set<HookId> sent;
  for (const UnitSet& sender : senders_) {
    for (const UnitId& unit : sender) sent.insert(output_hook(unit));
  }
  MemorySink donor(sent);
  Taps observe_donor;
  observe_donor.observers = {&donor};
  model_.run(make_batch(donor_rows), observe_donor,
             {.engine = options_.engine, .logits = {.at = LogitsAt::none}});

  std::set<HookId> kept = sent;
  for (int l = 0; l < model_.config().n_layers; ++l) {
    for (const Site site : {Site::q, Site::k, Site::v}) kept.insert({site, l});
    if (model_.config().mlp != MlpKind::none) kept.insert({Site::mlp_out, l});
  }
  MemorySink clean(kept);
  Taps observe_clean;
  observe_clean.observers = {&clean};
  const RunResult untouched = model_.run(batch, observe_clean, with_logits);
  std::vector<at::Tensor> references;
  for (int r = 0; r < batch.size(); ++r) {
    references.push_back(reader.capture_clean(untouched, batch, r));
  }
  compared_.clear();
  for (const at::Tensor& reference : references) {
    compared_.push_back(reference.defined() ? &reference : nullptr);
  }
  const std::vector<MetricValue> base = metric(reader, untouched, batch);
  for (std::size_t i = 0; i < chunk.size(); ++i) out.baseline[chunk[i]] = base[i].value;

  for (std::size_t s = 0; s < senders_.size(); ++s) {
    if (options_.stop != nullptr && *options_.stop) {
      throw Error(ErrorKind::interrupted, "PT20",
                  {.what = "stopped by a signal", .next = std::string(kRunItAgain)});
    }
    for (const UnitId& unit : senders_[s]) {
      const HookId hook = output_hook(unit);
      const at::Tensor changed = donor.values().at(hook) != clean.values().at(hook);
      const at::Tensor part = unit.kind == UnitKind::head ? changed.select(2, unit.index) : changed;
      differs_[s] = differs_[s] || part.any().item<bool>();
    }
    const auto sent_from = [&](const Values& source) {
      RunResult frozen;
      const Values inputs =
          receive(senders_[s], source, clean.values(), batch, with_logits, frozen);
      const RunResult result = to_logits() ? frozen : replay(inputs, batch, with_logits);
      return metric(reader, result, batch);
    };
    if (s == 0) {
      const std::vector<MetricValue> own = sent_from(clean.values());
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        out.own_value_difference =
            std::max(out.own_value_difference, std::abs(own[i].value - base[i].value));
      }
    }
    const std::vector<MetricValue> values = sent_from(donor.values());
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      out.effects[s * prompts_.size() + chunk[i]] = values[i].value - base[i].value;
    }
  }
}

}  // namespace

void check_paths(const ModelConfig& config, const std::vector<UnitSet>& senders,
                 const std::vector<ReceiverId>& receivers) {
  for (const UnitSet& sender : senders) {
    for (const UnitId& unit : sender) output_hook(unit);
  }
  const bool logits = std::any_of(receivers.begin(), receivers.end(), [](const ReceiverId& r) {
    return r.kind == ReceiverKind::logits;
  });
  if (logits && receivers.size() > 1) {
    throw Error(ErrorKind::input, "PT11",
                {.where = "--receivers",
                 .what = "the logits cannot be patched together with other receivers",
                 .next = "run them one after the other"});
  }
  if (logits) return;
  for (const UnitSet& sender : senders) {
    const bool precedes =
        std::any_of(receivers.begin(), receivers.end(), [&](const ReceiverId& receiver) {
          return std::any_of(sender.begin(), sender.end(), [&](const UnitId& unit) {
            const bool same_layer = unit.layer == receiver.layer;
            const bool attention = unit.kind != UnitKind::mlp;
            return unit.layer < receiver.layer ||
                   (same_layer && attention && receiver.kind == ReceiverKind::mlp &&
                    !config.parallel_block);
          });
        });
    if (precedes) continue;
    throw Error(ErrorKind::input, "PT12",
                {.where = "--senders",
                 .what = unit_set_name(sender) + " lies behind every receiver",
                 .next = "name receivers of later layers, or logits"});
  }
}

PathEffects path_effects(const Model& model, const std::vector<UnitSet>& senders,
                         const std::vector<ReceiverId>& receivers,
                         const std::vector<SweepPrompt>& prompts, const PathOptions& options) {
  return at_boundary("path patching", [&] {
    const OneComputeThread alone;
    const c10::InferenceMode inference;
    return PathRunner(model, senders, receivers, prompts, options).run();
  });
}

}  // namespace attnscope
