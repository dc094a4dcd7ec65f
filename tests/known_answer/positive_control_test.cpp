// The positive control is fit for its use: with effects as its runs measure them, the rule of
// `verdict` says of every head what is true of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "attnscope/probes/attribution.h"
#include "attnscope/probes/known_answer_varied.h"
#include "attnscope/probes/sweep.h"
#include "attnscope/probes/verdict_rule.h"
#include "known_run.h"

namespace attnscope::testing {
namespace {

constexpr std::size_t kHeads = kVariedTruth.size();
const std::vector<std::string> kMethods = {"zero", "mean", "resample"};

// The control's model, its prompts and everything that a verdict measures of them.
class Control {
 public:
  Control() : model_(load_known(varied_induction_model())) {
    for (const VariedPrompt& prompt : varied_induction_prompts()) {
      prompts_.push_back({.row = {.ids = prompt.clean},
                          .donors = {{.ids = prompt.corrupt}},
                          .target = {.answers = {prompt.answer}, .wrongs = {prompt.wrong}}});
      input.cluster_of_prompt.push_back(prompt.cluster);
    }
    for (const VariedTruth& truth : kVariedTruth) {
      input.units.push_back(std::to_string(truth.head.layer) + "." +
                            std::to_string(truth.head.head));
      input.layers.push_back(truth.head.layer);
    }
    input.half_of_cluster = split_clusters(40, 1);
    measure_means();
    measure_total();
    measure_direct();
    measure_conditional();
  }

  double delta() const {
    return *default_delta(clean_, corrupt_, input.cluster_of_prompt, input.half_of_cluster);
  }

  VerdictInput input;

 private:
  Edit edit(std::size_t method, std::size_t head) const {
    const VariedHead at = kVariedTruth[head].head;
    Edit change{.hook = {Site::z, at.layer}, .heads = {at.head}};
    if (method == 0) return change;
    change.operation = Operation::set;
    change.source = method == 1 ? ValueSource::constant : ValueSource::donor;
    if (method == 1) change.value = means_[head];
    return change;
  }

  SweepResult sweep(const std::vector<Cell>& cells) const {
    return run_sweep(model_, cells, prompts_, {.engine = Engine::reference});
  }

  // Mean z of each head over all tokens of the corrupt prompts of the selection half.
  void measure_means() {
    const std::vector<int> selected =
        prompts_of(Half::selection, input.half_of_cluster, input.cluster_of_prompt);
    means_.resize(kHeads);
    for (const int p : selected) {
      const auto values = record(model_, prompts_[static_cast<std::size_t>(p)].donors[0].ids,
                                 {{Site::z, 0}, {Site::z, 1}});
      for (std::size_t head = 0; head < kHeads; ++head) {
        const VariedHead at = kVariedTruth[head].head;
        const at::Tensor z = values.at({Site::z, at.layer})[0].narrow(1, at.head, 1).mean(0, true) /
                             static_cast<double>(selected.size());
        means_[head] = means_[head].defined() ? means_[head] + z : z;
      }
    }
  }

  void measure_total() {
    for (std::size_t method = 0; method < kMethods.size(); ++method) {
      std::vector<Cell> cells;
      for (std::size_t head = 0; head < kHeads; ++head) {
        cells.push_back({input.units[head], {edit(method, head)}});
      }
      const SweepResult result = sweep(cells);
      input.methods.push_back({.name = kMethods[method], .total = result.effects});
      clean_ = result.baseline;
      corrupt_ = result.donor_baseline;
    }
  }

  void measure_direct() {
    for (MethodEffects& method : input.methods) method.direct.resize(kHeads * prompts_.size());
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      const SweepPrompt& prompt = prompts_[p];
      ReadRecorder recorder(model_, {{0, -1}});
      Taps taps;
      taps.observers = {&recorder};
      model_.run(make_batch({prompt.row}), taps, {.engine = Engine::reference});
      const DirectPath path(model_, recorder.take(),
                            {prompt.target.answers[0], prompt.target.wrongs[0]});
      const auto difference = [](const at::Tensor& logits) {
        return (logits[0] - logits[1]).item<double>();
      };
      const std::vector<HookId> hooks = {{Site::z, 0}, {Site::z, 1}};
      const auto clean = record(model_, prompt.row.ids, hooks);
      const auto corrupt = record(model_, prompt.donors[0].ids, hooks);
      for (std::size_t method = 0; method < kMethods.size(); ++method) {
        for (std::size_t head = 0; head < kHeads; ++head) {
          const VariedHead at = kVariedTruth[head].head;
          const HookId hook{Site::z, at.layer};
          at::Tensor change = at::zeros_like(clean.at(hook)[0][-1]);  // [h d]
          const at::Tensor old = clean.at(hook)[0][-1][at.head];
          const at::Tensor now = method == 0   ? at::zeros_like(old)
                                 : method == 1 ? means_[head][0][0]
                                               : corrupt.at(hook)[0][-1][at.head];
          change[at.head].copy_(now - old);
          const at::Tensor written =
              path.attn_out_change(at.layer, change.unsqueeze(0).unsqueeze(0)).sum(2);
          input.methods[method].direct[head * prompts_.size() + p] =
              difference(path.outputs_after(at.layer, ResidualPart::attn_out, written)[0][0]) -
              difference(path.outputs()[0]);
        }
      }
    }
  }

  void measure_conditional() {
    for (std::size_t method = 0; method < kMethods.size(); ++method) {
      for (const std::size_t given : units_to_condition_on(input, 5)) {
        std::vector<Cell> cells;
        for (std::size_t head = 0; head < kHeads; ++head) {
          Cell both{input.units[head], {edit(method, given)}};
          if (head != given) both.edits.push_back(edit(method, head));
          cells.push_back(std::move(both));
        }
        std::vector<double> values = sweep(cells).effects;
        const std::vector<double> alone(
            values.begin() + static_cast<std::ptrdiff_t>(given * prompts_.size()),
            values.begin() + static_cast<std::ptrdiff_t>((given + 1) * prompts_.size()));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] -= alone[i % alone.size()];
        input.conditional.push_back({.method = method, .given = given, .values = values});
      }
    }
  }

  Model model_;
  std::vector<SweepPrompt> prompts_;
  std::vector<at::Tensor> means_;  // [1 1 d]
  std::vector<double> clean_, corrupt_;
};

TEST(PositiveControl, EveryHeadGetsItsVerdict) {
  const Control control;
  const double delta = control.delta();
  EXPECT_NEAR(delta, 0.2, 0.05);  // the planted heads are 3 and 0.3 of it
  const VerdictResult result = judge(control.input, {.delta = delta, .seed = 1, .draws = 2000});
  ASSERT_TRUE(result.withheld.empty()) << result.withheld.front();
  for (std::size_t head = 0; head < kHeads; ++head) {
    const bool causal = kVariedTruth[head].verdict == KnownVerdict::causal;
    EXPECT_EQ(verdict_name(result.units[head].verdict),
              verdict_name(causal ? Verdict::causal : Verdict::no_effect))
        << control.input.units[head] << ": " << kVariedTruth[head].what << "; hidden "
        << result.units[head].largest_hidden << " " << result.units[head].hidden_where;
  }
  EXPECT_EQ(result.picked.strongest, 0U);  // it feeds the induction head and both planted ones
}

}  // namespace
}  // namespace attnscope::testing
