// Attention-only model that finds repeats: one chunk three times among random tokens.
#include <gtest/gtest.h>

#include <optional>

#include "family_comparison.h"
#include "published.h"
#include "recorder.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

class Induction : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = material("models/induction");
    if (!path) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
    reference_ = read_reference(*path + "/reference_induction.json");
    model_ = load_with_weights(folder_, "induction", *path + "/induction_2l_attn_only.safetensors");
    std::vector<TokenRow> rows;
    for (const auto& sequence : reference_["sequences"]) {
      rows.push_back({.ids = sequence.get<std::vector<std::int64_t>>()});
    }
    batch_ = make_batch(rows);
    starts_ = reference_["chunk_starts"].get<std::vector<std::vector<int>>>();
  }

  // Predictions made at start + 2 … start + 14 of the second and third copy.
  Score score(const std::vector<Intervention>& interventions) const {
    Taps taps;
    taps.interventions = interventions;
    const at::Tensor logits =
        model_->run(batch_, taps, {.engine = Engine::reference}).logits.to(at::kDouble);
    const at::Tensor log_probs = at::log_softmax(logits, -1);
    const at::Tensor best = logits.argmax(-1);
    Score total;
    int n = 0;
    for (std::size_t r = 0; r < starts_.size(); ++r) {
      const auto row = static_cast<std::int64_t>(r);
      for (const int start : {starts_[r][1], starts_[r][2]}) {
        for (int p = start + 2; p <= start + 14; ++p, ++n) {
          const auto next = batch_.ids[row][p + 1].item<std::int64_t>();
          total.loss -= log_probs[row][p][next].item<double>();
          total.accuracy += best[row][p].item<std::int64_t>() == next ? 1 : 0;
        }
      }
    }
    return {total.accuracy / n, total.loss / n};
  }

  TempFolder folder_;
  nlohmann::json reference_;
  std::optional<Model> model_;
  Batch batch_;
  std::vector<std::vector<int>> starts_;
};

TEST_F(Induction, LossAccuracyAndLogits) {
  const Score base = score({});
  EXPECT_NEAR(base.loss, reference_["baseline_loss"].get<double>(), 1e-4);
  EXPECT_NEAR(base.accuracy, reference_["baseline_accuracy"].get<double>(), 2e-4);
  const at::Tensor logits = model_->run(batch_, Taps{}, {}).logits;
  EXPECT_LE(largest_difference(logits[0][-1].slice(0, 0, 8),
                               to_tensor(reference_["logits_seq0_last_first8"])),
            1e-4);
}

// Mean over the batch and all positions.
TEST_F(Induction, MeanAblationTable) {
  ASSERT_EQ(reference_["heads"].size(), 8U);
  for (const auto& [name, expected] : reference_["heads"].items()) {
    const LayerHead unit = layer_and_head(name);
    const HookId z{Site::z, unit.layer};
    const at::Tensor mean =
        run_and_record(*model_, batch_, {z}).values.at(z).mean(at::IntArrayRef{0, 1})[unit.head];
    const Score ablated = score({replace_z(unit.layer, unit.head, mean)});
    EXPECT_NEAR(ablated.loss, expected["mean_ablation_loss"].get<double>(), 1e-4) << name;
    EXPECT_NEAR(ablated.accuracy, expected["mean_ablation_accuracy"].get<double>(), 2e-4) << name;
  }
}

TEST_F(Induction, AttentionScores) {
  const Outcome run = run_and_record(*model_, batch_, {{Site::pattern, 0}, {Site::pattern, 1}});
  for (const auto& [name, expected] : reference_["heads"].items()) {
    const LayerHead unit = layer_and_head(name);
    const at::Tensor maps = run.values.at({Site::pattern, unit.layer}).select(1, unit.head);
    const double previous = maps.diagonal(-1, 1, 2).to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(previous, expected["prev_token_score"].get<double>(), 1e-5) << name;
    const at::Tensor map = maps.contiguous();
    const auto access = map.accessor<float, 3>();
    double mass = 0;
    for (std::size_t r = 0; r < starts_.size(); ++r) {
      for (int offset = 2; offset <= 14; ++offset) {
        for (const int earlier : {starts_[r][0], starts_[r][1]}) {
          mass +=
              access[static_cast<std::int64_t>(r)][starts_[r][2] + offset][earlier + offset + 1];
        }
      }
    }
    mass /= static_cast<double>(starts_.size()) * 13;
    EXPECT_NEAR(mass, expected["induction_score"].get<double>(), 1e-5) << name;
  }
}

}  // namespace
}  // namespace attnscope::testing
