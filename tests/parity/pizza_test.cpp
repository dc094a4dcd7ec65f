// Modular addition (Zhong et al. 2023): all 59 × 59 pairs; attention mixed with a constant.
#include <gtest/gtest.h>

#include "family_comparison.h"
#include "published.h"
#include "recorder.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

class Pizza : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr int kModulus = 59;

  Pizza()
      : reference_(read_reference(fixture("models/pizza/reference.json"))["models"][GetParam()]),
        model_(load_model(fixture("custom/pizza_" + GetParam() + ".json"), DType::f32).model) {
    std::vector<TokenRow> rows;
    std::vector<std::int64_t> sums;
    for (std::int64_t a = 0; a < kModulus; ++a) {
      for (std::int64_t b = 0; b < kModulus; ++b) {
        rows.push_back({.ids = {a, b}});
        sums.push_back((a + b) % kModulus);
      }
    }
    batch_ = make_batch(rows);
    sums_ = at::tensor(sums);
  }

  at::Tensor logits(const std::vector<Intervention>& interventions) const {
    Taps taps;
    taps.interventions = interventions;
    const RunOptions options{.engine = Engine::reference, .logits = {.at = LogitsAt::last}};
    return model_.run(batch_, taps, options).logits.squeeze(1).to(at::kDouble);
  }

  Score score(const std::vector<Intervention>& interventions) const {
    const at::Tensor out = logits(interventions);
    const at::Tensor right = at::log_softmax(out, -1).gather(1, sums_.unsqueeze(1));
    return {(out.argmax(-1) == sums_).to(at::kDouble).mean().item<double>(),
            -right.mean().item<double>()};
  }

  void expect_score(const Score& got, const nlohmann::json& expected, const std::string& what) {
    EXPECT_NEAR(got.accuracy, expected["accuracy"].get<double>(), 3e-4) << what;
    EXPECT_NEAR(got.loss, expected["loss"].get<double>(), 1e-5) << what;
  }

  nlohmann::json reference_;
  Model model_;
  Batch batch_;
  at::Tensor sums_;
};

TEST_P(Pizza, AddsEveryPair) {
  expect_score(score({}), reference_, "all pairs");
  EXPECT_LE(largest_difference(logits({})[3 * kModulus + 5].slice(0, 0, 5),
                               to_tensor(reference_["logits_3_plus_5_first5"])),
            1e-4);
}

TEST_P(Pizza, ZeroAblationTable) {
  ASSERT_EQ(static_cast<int>(reference_["zero_ablation"].size()), 4 * model_.config().n_layers);
  for (const auto& [name, expected] : reference_["zero_ablation"].items()) {
    const LayerHead unit = layer_and_head(name);
    const at::Tensor zero = at::zeros({1}, at::kFloat);
    expect_score(score({replace_z(unit.layer, unit.head, zero)}), expected, "zero " + name);
  }
}

// Mean over all pairs at the same position.
TEST_P(Pizza, MeanAblationTable) {
  ASSERT_EQ(static_cast<int>(reference_["mean_ablation"].size()), 4 * model_.config().n_layers);
  for (const auto& [name, expected] : reference_["mean_ablation"].items()) {
    const LayerHead unit = layer_and_head(name);
    const HookId z{Site::z, unit.layer};
    const at::Tensor mean = run_and_record(model_, batch_, {z}).values.at(z).mean(0);  // [q h d]
    const at::Tensor of_head = mean.narrow(1, unit.head, 1);
    expect_score(score({replace_z(unit.layer, unit.head, of_head)}), expected, "mean " + name);
  }
}

// Attention that does not look: every key with weight 1, the constant that the mix adds.
TEST_P(Pizza, ConstantAttention) {
  std::vector<Intervention> constant;
  for (int l = 0; l < model_.config().n_layers; ++l) {
    constant.push_back({.hook = {Site::pattern, l},
                        .operation = Operation::set,
                        .value = at::ones({1}, at::kFloat)});
  }
  const double expected = reference_["constant_attention_accuracy"].get<double>();
  EXPECT_NEAR(score(constant).accuracy, expected, 3e-4);
}

TEST_P(Pizza, PatternIsTheMixOfSoftmaxAndConstant) {
  const double mix = model_.config().layers[0].attention.softmax_mix;
  const HookId pattern{Site::pattern, 0}, scores{Site::attn_scores, 0};
  const Outcome run = run_and_record(model_, batch_, {pattern, scores});
  const at::Tensor expected = at::softmax(run.values.at(scores), -1) * mix + (1 - mix);
  EXPECT_LE(largest_difference(run.values.at(pattern), expected), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Models, Pizza, ::testing::Values("l8k1hzciux", "p99zdpze5l", "4asyr7ht1p"),
                         [](const auto& model) { return "model_" + model.param; });

}  // namespace
}  // namespace attnscope::testing
