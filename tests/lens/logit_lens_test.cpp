// The logit lens against numpy, and what must hold for every model.
#include "logit_lens.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attnscope/probes/known_answer.h"
#include "parity/family_comparison.h"
#include "parity/property_models.h"
#include "parity/recorder.h"

namespace attnscope::testing {
namespace {

nlohmann::json numbers() {
  std::ifstream file(std::string(ATTNSCOPE_SOURCE_DIR) + "/tests/lens/lens_numbers.json");
  return nlohmann::json::parse(file);
}

class LensNumbers : public ::testing::TestWithParam<std::string> {};

TEST_P(LensNumbers, AreThoseOfNumpy) {
  const nlohmann::json all = numbers();
  const nlohmann::json& expected = all["families"][GetParam()];
  const Model model = load_family(GetParam(), DType::f64).model;
  const LogitLens lens =
      logit_lens(model, {.ids = expected["ids"]}, {.top_k = 3, .targets = all["targets"]});
  ASSERT_EQ(lens.kl.size(0), expected["kl"].size());
  for (std::int64_t s = 0; s < lens.kl.size(0); ++s) {
    const auto stage = static_cast<std::size_t>(s);
    for (std::int64_t q = 0; q < lens.kl.size(1); ++q) {
      const auto position = static_cast<std::size_t>(q);
      const auto number = [&](const char* key) {
        return expected[key][stage][position].get<double>();
      };
      EXPECT_NEAR(lens.kl[s][q].item<double>(), number("kl"), 1e-9);
      EXPECT_NEAR(lens.target_log_prob[s][q].item<double>(), number("log_prob"), 1e-9);
      EXPECT_EQ(lens.target_rank[s][q].item<std::int64_t>(), number("rank"));
      for (std::size_t k = 0; k < 3; ++k) {
        const auto at = static_cast<std::int64_t>(k);
        EXPECT_EQ(lens.top_id[s][q][at].item<std::int64_t>(),
                  expected["top_id"][stage][position][k].get<std::int64_t>());
        EXPECT_NEAR(lens.top_prob[s][q][at].item<double>(),
                    expected["top_prob"][stage][position][k].get<double>(), 1e-9);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, LensNumbers,
                         ::testing::Values("bert", "gemma2", "gpt2", "gpt_neox", "llama"),
                         [](const auto& instance) { return instance.param; });

class LogitLenses : public ::testing::TestWithParam<std::string> {};

// The last stage is the model: its first choices, its probabilities, and no distance to itself.
TEST_P(LogitLenses, EndWithTheModel) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  if (!lens_obstacle(loaded.model.config()).empty()) {
    EXPECT_ANY_THROW(logit_lens(loaded.model, loaded.rows[0], {}));
    return;
  }
  for (const TokenRow& row : loaded.rows) {
    const LogitLens lens = logit_lens(loaded.model, row, {.top_k = 4});
    const at::Tensor logits = loaded.model.run(make_batch({row}), {}, {}).logits[0];
    const at::Tensor probabilities = logits.to(at::kDouble).softmax(-1);
    const auto [top_prob, top_id] = probabilities.topk(4, -1);
    EXPECT_LE(largest_difference(lens.top_prob[-1], top_prob), 1e-6);
    EXPECT_LE(largest_difference(probabilities.gather(-1, lens.top_id[-1]), top_prob), 1e-6);
    EXPECT_TRUE(at::equal(lens.first_choice, lens.top_id[-1].select(-1, 0)));
    EXPECT_EQ(lens.kl[-1].abs().max().item<double>(), 0);
    EXPECT_GE(lens.kl.min().item<double>(), 0);
    // Without targets it is the model's own first choice that is looked for.
    EXPECT_EQ(lens.target_rank[-1].max().item<std::int64_t>(), 0);
    EXPECT_TRUE(at::equal(lens.target_log_prob[-1].exp(), lens.top_prob[-1].select(-1, 0)));
  }
}

// Positions taken in turn give what they give together.
TEST_P(LogitLenses, DoNotDependOnTheBlock) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  if (!lens_obstacle(loaded.model.config()).empty()) return;
  const LogitLens whole = logit_lens(loaded.model, loaded.rows[0], {.targets = {3}});
  const LogitLens parts = logit_lens(loaded.model, loaded.rows[0], {.targets = {3}, .block = 600});
  EXPECT_TRUE(at::equal(whole.top_id, parts.top_id));
  EXPECT_TRUE(at::equal(whole.target_rank, parts.target_rank));
  EXPECT_LE(largest_difference(whole.kl, parts.kl), 1e-12);
  EXPECT_LE(largest_difference(whole.target_log_prob, parts.target_log_prob), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Models, LogitLenses, ::testing::ValuesIn(property_models()),
                         [](const auto& instance) { return instance.param; });

// Before its second layer the induction model has nothing to say; after it, all logits are known.
TEST(LogitLens, OfTheInductionModel) {
  const PropertyModel loaded = load_property_model("known_answer", DType::f64);
  const LogitLens lens = logit_lens(loaded.model, loaded.rows[0], {.top_k = 1});
  const int i = 14;  // 5 follows
  EXPECT_NEAR(lens.top_prob[0][i][0].item<double>(), 1.0 / 16, 1e-15);
  EXPECT_NEAR(lens.top_prob[1][i][0].item<double>(), 1.0 / 16, 1e-15);
  EXPECT_EQ(lens.top_id[2][i][0].item<std::int64_t>(), 5);
  // Logits: 5 has the induction head's 5 and 1/15 for its one copy seen; 1 to 4 have 2/15, 6 to 10
  // have 1/15, BOS and the rest 0.
  const double weight = 1 / (1 + std::exp(-10.0) + (i - 1) * std::exp(-20.0));
  const double said = std::exp(5 * weight + 1.0 / 15);
  const double sum = said + 4 * std::exp(2.0 / 15) + 5 * std::exp(1.0 / 15) + 6;
  EXPECT_NEAR(lens.top_prob[2][i][0].item<double>(), said / sum, 1e-7);
  const auto term = [&](double logit) {  // p · ln(p · 16)
    return std::exp(logit) / sum * (logit - std::log(sum) + std::log(16.0));
  };
  const double kl = term(std::log(said)) + 4 * term(2.0 / 15) + 5 * term(1.0 / 15) + 6 * term(0);
  EXPECT_NEAR(lens.kl[1][i].item<double>(), kl, 1e-6);
}

TEST(LogitLens, RefusesWhatHasNoLens) {
  const PropertyModel loaded = load_property_model("known_answer", DType::f32);
  EXPECT_ANY_THROW(logit_lens(loaded.model, loaded.rows[0], {.targets = {16}}));
  ModelConfig config = loaded.model.config();
  config.head = HeadKind::none;
  EXPECT_FALSE(lens_obstacle(config).empty());
  config.head = HeadKind::classifier;
  config.classifier = ClassifierKind::last_token;
  EXPECT_FALSE(lens_obstacle(config).empty());
  config.classifier = ClassifierKind::every_token;
  EXPECT_TRUE(lens_obstacle(config).empty());
}

}  // namespace
}  // namespace attnscope::testing
