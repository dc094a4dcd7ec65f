#include "attnscope/probes/reference_means.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "attnscope/support/error.h"
#include "attnscope/support/philox.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

constexpr std::int64_t kBatchTokens = 2048;

// Sums of the values of some hooks over the real tokens of all batches.
class Summer final : public Observer {
 public:
  Summer(const std::vector<HookId>& hooks, PositionMeans positions)
      : hooks_(hooks.begin(), hooks.end()), positions_(positions) {}

  Want want(HookId hook) const override {
    return std::find(hooks_.begin(), hooks_.end(), hook) == hooks_.end() ? Want::nothing()
                                                                         : Want::whole_value();
  }

  void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override {
    for (int row = 0; row < batch.size(); ++row) {
      const at::Tensor real = unpadded(value, batch, row).to(at::kDouble);
      add(total_[hook], real.sum(0));
      if (positions_ == PositionMeans::on) add(by_position_[hook], real);
    }
  }

  ReferenceMeans means(std::int64_t tokens, std::int64_t prompts) const {
    ReferenceMeans means;
    for (const auto& [hook, sum] : total_) means.all[hook] = sum / static_cast<double>(tokens);
    for (const auto& [hook, sum] : by_position_) {
      means.by_position[hook] = sum / static_cast<double>(prompts);
    }
    return means;
  }

 private:
  static void add(at::Tensor& sum, const at::Tensor& value) {
    sum = sum.defined() ? sum + value : value.clone();
  }

  std::vector<HookId> hooks_;
  PositionMeans positions_;
  std::map<HookId, at::Tensor> total_;
  std::map<HookId, at::Tensor> by_position_;
};

void check_lengths(const std::vector<TokenRow>& rows) {
  for (const TokenRow& row : rows) {
    if (row.ids.size() == rows[0].ids.size()) continue;
    throw Error(ErrorKind::input, "AB10",
                {.where = "--method mean-pos",
                 .what = "means by position need prompts of one length",
                 .expected = count_of(rows[0].ids.size(), "token"),
                 .got = std::to_string(row.ids.size()),
                 .next = "use --method mean, or prompts of one template"});
  }
}

}  // namespace

ReferenceMeans reference_means(const Model& model, const std::vector<TokenRow>& rows,
                               const std::vector<HookId>& hooks, PositionMeans positions,
                               Engine engine) {
  if (positions == PositionMeans::on) check_lengths(rows);
  const c10::InferenceMode inference;
  Summer summer(hooks, positions);
  Taps taps;
  taps.observers = {&summer};
  std::int64_t tokens = 0;
  std::vector<TokenRow> batch;
  const auto run = [&] {
    if (batch.empty()) return;
    model.run(make_batch(batch), taps, {.engine = engine, .logits = {.at = LogitsAt::none}});
    batch.clear();
  };
  std::int64_t held = 0;
  for (const TokenRow& row : rows) {
    tokens += static_cast<std::int64_t>(row.ids.size());
    held += static_cast<std::int64_t>(row.ids.size());
    batch.push_back(row);
    if (held >= kBatchTokens) {
      run();
      held = 0;
    }
  }
  run();
  return summer.means(tokens, static_cast<std::int64_t>(rows.size()));
}

void check_equal_lengths(const std::vector<SweepPrompt>& prompts,
                         const std::vector<TokenRow>& reference) {
  const std::size_t length = reference.at(0).ids.size();
  for (const SweepPrompt& prompt : prompts) {
    if (prompt.row.ids.size() == length) continue;
    throw Error(ErrorKind::input, "AB10",
                {.where = "--method mean-pos",
                 .what = "means by position need prompts of one length",
                 .expected = count_of(length, "token"),
                 .got = std::to_string(prompt.row.ids.size()),
                 .next = "use --method mean, or prompts of one template"});
  }
}

void draw_donors(std::vector<SweepPrompt>& prompts, const std::vector<int>& clusters,
                 std::uint64_t seed) {
  constexpr std::uint64_t kDonorStream = 0xD0904ULL;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    if (!prompts[p].donors.empty()) continue;
    std::vector<std::size_t> fitting;
    for (std::size_t other = 0; other < prompts.size(); ++other) {
      const bool fits = prompts[other].row.ids.size() == prompts[p].row.ids.size();
      if (fits && clusters[other] != clusters[p]) fitting.push_back(other);
    }
    if (fitting.empty()) {
      throw Error(ErrorKind::input, "AB11",
                  {.where = "--method resample",
                   .what = "prompt " + std::to_string(p + 1) + " has no corrupt twin, and no " +
                           "prompt of another group has its length of " +
                           count_of(prompts[p].row.ids.size(), "token"),
                   .next = "give corrupt prompts, or leave out resample"});
    }
    Philox random(seed, kDonorStream + p);
    prompts[p].donors = {
        prompts[fitting[random.below(static_cast<std::uint32_t>(fitting.size()))]].row};
  }
}

namespace {

bool is_same(const TokenRow& a, const TokenRow& b) {
  return a.ids == b.ids && a.token_types == b.token_types && a.position_ids == b.position_ids;
}

// Whether what `method` puts into the prompt is what the prompt has there.
bool gives_own_values(AblationMethod method, const SweepPrompt& prompt,
                      const std::vector<TokenRow>& reference) {
  const auto is_prompt = [&](const TokenRow& row) { return is_same(row, prompt.row); };
  switch (method) {
    case AblationMethod::mean:
      // The mean over the tokens of a longer prompt is the value of none of them.
      return prompt.row.ids.size() == 1 &&
             std::all_of(reference.begin(), reference.end(), is_prompt);
    case AblationMethod::mean_pos:
      return std::all_of(reference.begin(), reference.end(), is_prompt);
    case AblationMethod::resample:
      return !prompt.donors.empty() && is_prompt(prompt.donors.front());
    case AblationMethod::zero:
    case AblationMethod::vector:
    case AblationMethod::optimal:
      break;
  }
  return false;
}

}  // namespace

void warn_of_own_values(const std::vector<AblationMethod>& methods,
                        const std::vector<SweepPrompt>& prompts,
                        const std::vector<TokenRow>& reference, Warnings& warnings) {
  for (const AblationMethod method : methods) {
    const auto own = std::count_if(prompts.begin(), prompts.end(), [&](const SweepPrompt& prompt) {
      return gives_own_values(method, prompt, reference);
    });
    if (own == 0) continue;
    const std::string why = method == AblationMethod::resample
                                ? "the prompt that values come from is the prompt itself"
                                : "the mean is over this prompt alone";
    warnings.add("--method " + choice_name(method) + " puts in what is there already on " +
                 std::to_string(own) + " of " + count_of(prompts.size(), "prompt") + ", since " +
                 why + ": effects there are 0 but for rounding, whatever a unit does");
  }
}

}  // namespace attnscope
