// stories260K, a small trained Llama whose greedy text is published: generation, loss, attention
// and ablation tables.
#include <gtest/gtest.h>

#include "family_comparison.h"
#include "published.h"
#include "recorder.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

class Stories : public ::testing::Test {
 protected:
  static constexpr int kLayers = 5;
  static constexpr int kHeads = 8;

  Stories()
      : reference_(read_reference(fixture("models/stories260k/reference.json"))),
        model_(load_model(fixture("models/stories260k/hf"), DType::f32).model),
        ids_(reference_["greedy_ids_256"].get<std::vector<std::int64_t>>()) {}

  // Mean loss of the 255 predictions, one for each batch row.
  at::Tensor losses(int n_rows, const std::vector<Intervention>& interventions) const {
    const Batch batch =
        make_batch(std::vector<TokenRow>(static_cast<std::size_t>(n_rows), TokenRow{.ids = ids_}));
    Taps taps;
    taps.interventions = interventions;
    const at::Tensor logits = model_.run(batch, taps, {}).logits.to(at::kDouble);
    const auto n = static_cast<std::int64_t>(ids_.size());
    const at::Tensor next = at::tensor(ids_).slice(0, 1).reshape({1, n - 1, 1});
    const at::Tensor log_probs = at::log_softmax(logits.narrow(1, 0, n - 1), -1);
    return -log_probs.gather(2, next.expand({n_rows, n - 1, 1})).squeeze(2).mean(1);
  }

  nlohmann::json reference_;
  Model model_;
  std::vector<std::int64_t> ids_;
};

TEST_F(Stories, WritesItsPublishedTokens) {
  ASSERT_EQ(ids_.size(), 256U);
  std::vector<std::int64_t> written = {ids_.front()};
  while (written.size() < ids_.size()) {
    const RunOptions options{.logits = {.at = LogitsAt::last}};
    const at::Tensor logits = model_.run(make_batch({{.ids = written}}), Taps{}, options).logits;
    written.push_back(logits.flatten().argmax().item<std::int64_t>());
  }
  EXPECT_EQ(written, ids_);
}

TEST_F(Stories, PredictsThemWhenTheyAreGiven) {
  const at::Tensor logits = model_.run(make_batch({{.ids = ids_}}), Taps{}, {}).logits[0];
  EXPECT_TRUE(at::equal(logits.argmax(-1).slice(0, 0, 255), at::tensor(ids_).slice(0, 1)));
  EXPECT_NEAR(losses(1, {}).item<double>(), reference_["mean_nll_of_greedy"].get<double>(), 1e-5);
}

TEST_F(Stories, PromptLogitsAndAttention) {
  const auto prompt = reference_["prompt_ids"].get<std::vector<std::int64_t>>();
  const Outcome run = run_and_record(model_, make_batch({{.ids = prompt}}),
                                     {{Site::pattern, 0}, {Site::pattern, 4}});
  const at::Tensor logits = run.output[0].to(at::kDouble);
  for (const auto& entry : reference_["prompt_logits_last_top10"]) {
    EXPECT_NEAR(logits[-1][entry[0].get<std::int64_t>()].item<double>(), entry[1].get<double>(),
                1e-4);
  }
  const auto& checksum = reference_["prompt_logits_checksum"];
  EXPECT_NEAR(logits.sum().item<double>(), checksum["sum"].get<double>(), 1e-2);
  EXPECT_NEAR(logits.abs().sum().item<double>(), checksum["sum_abs"].get<double>(), 1e-2);
  EXPECT_LE(largest_difference(run.values.at({Site::pattern, 0})[0][0],
                               to_tensor(reference_["attention_L0H0_prompt"])),
            1e-5);
  EXPECT_LE(largest_difference(run.values.at({Site::pattern, 4})[0][7],
                               to_tensor(reference_["attention_L4H7_prompt"])),
            1e-5);
}

// Head statistics against a published table made in another way.
TEST_F(Stories, PreviousAndFirstTokenAttention) {
  StatisticsRecorder recorder;
  Taps taps;
  taps.observers.push_back(&recorder);
  model_.run(make_batch({{.ids = ids_}}), taps, {});
  for (int l = 0; l < kLayers; ++l) {
    const at::Tensor stats =
        at::tensor(recorder.layer(l)[0].head_stats).reshape({kHeads, kHeadStatCount});
    EXPECT_LE(largest_difference(stats.select(1, static_cast<int>(HeadStat::previous)),
                                 to_tensor(reference_["prev_token_attention"][l])),
              1e-5);
    EXPECT_LE(largest_difference(stats.select(1, static_cast<int>(HeadStat::sink)),
                                 to_tensor(reference_["first_token_attention"][l])),
              1e-5);
  }
}

TEST_F(Stories, ZeroAblationTable) {
  const double base = losses(1, {}).item<double>();
  for (int l = 0; l < kLayers; ++l) {
    std::vector<Intervention> cells;
    for (int h = 0; h < kHeads; ++h) {
      cells.push_back(
          {.hook = {Site::z, l}, .operation = Operation::zero, .rows = {h}, .heads = {h}});
    }
    EXPECT_LE(largest_difference(losses(kHeads, cells) - base,
                                 to_tensor(reference_["zero_ablation_delta_nll"][l])),
              1e-5)
        << "layer " << l;
  }
}

// Each head's z replaced by its mean over the positions of this one text.
TEST_F(Stories, MeanAblationTable) {
  const double base = losses(1, {}).item<double>();
  const Outcome clean =
      run_and_record(model_, make_batch({{.ids = ids_}}),
                     {{Site::z, 0}, {Site::z, 1}, {Site::z, 2}, {Site::z, 3}, {Site::z, 4}});
  for (int l = 0; l < kLayers; ++l) {
    const at::Tensor mean = clean.values.at({Site::z, l})[0].mean(0);  // [h d]
    std::vector<Intervention> cells;
    for (int h = 0; h < kHeads; ++h) cells.push_back(replace_z(l, h, mean[h], {h}));
    EXPECT_LE(
        largest_difference(losses(kHeads, cells) - base,
                           to_tensor(reference_["mean_over_positions_ablation_delta_nll"][l])),
        1e-5)
        << "layer " << l;
  }
}

}  // namespace
}  // namespace attnscope::testing
