// Are the brackets balanced? A classifier with bidirectional attention over padded texts.
#include <gtest/gtest.h>

#include <optional>

#include "family_comparison.h"
#include "published.h"
#include "recorder.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

class Brackets : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = material("models/brackets");
    if (!path) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
    reference_ = read_reference(*path + "/reference.json");
    model_ = load_with_weights(folder_, "brackets", *path + "/model.safetensors");
    std::vector<TokenRow> rows;
    std::vector<std::int64_t> labels;
    for (const auto& entry : read_reference(*path + "/brackets_data_first5000.json")) {
      TokenRow row{.ids = {0}};
      for (const char bracket : entry[0].get<std::string>())
        row.ids.push_back(bracket == '(' ? 3 : 4);
      row.ids.push_back(2);
      rows.push_back(row);
      labels.push_back(entry[1].get<bool>() ? 1 : 0);
    }
    batch_ = make_batch(rows);
    labels_ = at::tensor(labels);
  }

  at::Tensor logits(const std::vector<Intervention>& interventions) const {
    Taps taps;
    taps.interventions = interventions;
    return model_->run(batch_, taps, {}).logits.select(1, 0).to(at::kDouble);
  }

  // Accuracy, and the mean difference of the right and the wrong logit as `loss`.
  Score score(const std::vector<Intervention>& interventions) const {
    const at::Tensor out = logits(interventions);
    const at::Tensor right = out.gather(1, labels_.unsqueeze(1));
    const at::Tensor wrong = out.gather(1, 1 - labels_.unsqueeze(1));
    return {(out.argmax(-1) == labels_).to(at::kDouble).mean().item<double>(),
            (right - wrong).mean().item<double>()};
  }

  TempFolder folder_;
  nlohmann::json reference_;
  std::optional<Model> model_;
  Batch batch_;
  at::Tensor labels_;
};

TEST_F(Brackets, AccuracyAndLogits) {
  const Score base = score({});
  EXPECT_NEAR(base.accuracy, reference_["accuracy"].get<double>(), 2e-4);
  EXPECT_NEAR(base.loss, reference_["mean_correct_logit_diff"].get<double>(), 1e-4);
  EXPECT_LE(largest_difference(logits({}).slice(0, 0, 20), to_tensor(reference_["logits_first20"])),
            1e-4);
}

// Mean at the same position over the texts that reach it: pads are no tokens.
TEST_F(Brackets, MeanAblationTable) {
  const auto& table = reference_["mean_ablation_real_tokens"];
  ASSERT_EQ(table.size(), 6U);
  const at::Tensor real = batch_.real.to(at::kDouble).reshape({batch_.size(), -1, 1, 1});
  for (const auto& [name, expected] : table.items()) {
    const LayerHead unit = layer_and_head(name);
    const HookId hook{Site::z, unit.layer};
    const at::Tensor z = run_and_record(*model_, batch_, {hook}, {}, {}).values.at(hook);
    const at::Tensor mean = (z * real).sum(0) / real.sum(0);  // [q h d]
    const Score ablated =
        score({replace_z(unit.layer, unit.head, mean.unsqueeze(0).expand_as(z).to(z.dtype()))});
    EXPECT_NEAR(ablated.accuracy, expected["accuracy"].get<double>(), 2e-4) << name;
    EXPECT_NEAR(ablated.loss, expected["mean_correct_logit_diff"].get<double>(), 1e-4) << name;
  }
}

}  // namespace
}  // namespace attnscope::testing
