// The positive control: the model says what the definition of its heads says, prompt by prompt, and
// the heads' effects are as large as they were planted.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "attnscope/probes/known_answer_varied.h"
#include "known_run.h"

namespace attnscope::testing {
namespace {

double difference(const Model& model, const std::vector<std::int64_t>& ids,
                  const VariedPrompt& prompt, const std::vector<VariedHead>& removed) {
  Taps taps;
  for (const VariedHead head : removed)
    taps.interventions.push_back(zero_head(head.layer, head.head));
  RunOptions options{.engine = Engine::reference};
  options.logits = {.at = LogitsAt::last, .columns = {prompt.answer, prompt.wrong}};
  const at::Tensor logits = model.run(make_batch({{.ids = ids}}), taps, options).logits[0][0];
  return logits[0].item<double>() - logits[1].item<double>();
}

TEST(VariedInduction, EveryHeadRemovedGivesWhatItsDefinitionSays) {
  const VariedSizes sizes{.clusters = 6, .prompts_per_cluster = 2};
  const Model model = load_known(varied_induction_model(sizes));
  for (const VariedPrompt& prompt : varied_induction_prompts(sizes)) {
    EXPECT_NEAR(difference(model, prompt.clean, prompt, {}),
                varied_metric(sizes, prompt.clean, prompt, {}), 1e-12);
    EXPECT_NEAR(difference(model, prompt.corrupt, prompt, {}),
                varied_metric(sizes, prompt.corrupt, prompt, {}), 1e-12);
    for (const VariedTruth& truth : kVariedTruth) {
      EXPECT_NEAR(difference(model, prompt.clean, prompt, {truth.head}),
                  varied_metric(sizes, prompt.clean, prompt, {truth.head}), 1e-12)
          << truth.what;
    }
    EXPECT_NEAR(difference(model, prompt.clean, prompt, {{1, 0}, {1, 3}}),
                varied_metric(sizes, prompt.clean, prompt, {{1, 0}, {1, 3}}), 1e-12);
  }
}

TEST(VariedInduction, DecoysChangeNothingExactly) {
  const VariedSizes sizes{.clusters = 2, .prompts_per_cluster = 2};
  const Model model = load_known(varied_induction_model(sizes));
  for (const VariedPrompt& prompt : varied_induction_prompts(sizes)) {
    const double base = difference(model, prompt.clean, prompt, {});
    EXPECT_EQ(difference(model, prompt.clean, prompt, {{0, 1}}), base);
    EXPECT_EQ(difference(model, prompt.clean, prompt, {{1, 1}}), base);
  }
}

// Mean effects are as planted, a head's effects differ between prompts by up to half its size, and
// the swap of the corrupt prompt turns the metric round.
TEST(VariedInduction, EffectsAreAsLargeAsPlanted) {
  const VariedSizes sizes;
  const auto prompts = varied_induction_prompts(sizes);
  const auto n = static_cast<double>(prompts.size());
  std::map<int, double> mean;
  double clean = 0;
  double corrupt = 0;
  for (const VariedPrompt& prompt : prompts) {
    const double base = varied_metric(sizes, prompt.clean, prompt, {});
    clean += base / n;
    corrupt += varied_metric(sizes, prompt.corrupt, prompt, {}) / n;
    for (const int head : {0, 2, 3, 4}) {
      const double effect = varied_metric(sizes, prompt.clean, prompt, {{1, head}}) - base;
      mean[head] += effect / n;
      const double size = std::map<int, double>{{0, 5}, {2, 1}, {3, 0.6}, {4, 0.06}}[head];
      EXPECT_LE(std::abs(effect), 1.5 * size);
      if (head != 2) {
        EXPECT_LE(effect, -0.49 * size);
      }
    }
  }
  EXPECT_NEAR(mean[0], -5, 0.6);
  EXPECT_NEAR(mean[3], -0.6, 0.09);
  EXPECT_NEAR(mean[4], -0.06, 0.009);
  EXPECT_NEAR(mean[2], 0, 0.02);
  EXPECT_NEAR(clean + corrupt, 0, 0.9);
  EXPECT_GT(clean, 4.5);
}

TEST(VariedInduction, PromptsAreAsDescribed) {
  const VariedSizes sizes;
  const auto prompts = varied_induction_prompts(sizes);
  ASSERT_EQ(prompts.size(), 200U);
  std::map<int, std::set<std::int64_t>> tokens_of_cluster;
  for (const VariedPrompt& prompt : prompts) {
    ASSERT_EQ(prompt.clean.size(), 16U);
    ASSERT_EQ(prompt.corrupt.size(), 16U);
    EXPECT_EQ(prompt.clean.front(), 0);
    const std::set<std::int64_t> tokens(prompt.clean.begin() + 1, prompt.clean.end());
    EXPECT_EQ(tokens.size(), 10U);
    EXPECT_FALSE(tokens.contains(0));
    const auto [known, fresh] = tokens_of_cluster.try_emplace(prompt.cluster, tokens);
    EXPECT_EQ(known->second, tokens);
    // The answer follows the earlier copy of the last token, and is not seen again; so does the
    // wrong answer in the corrupt prompt.
    const auto first = std::find(prompt.clean.begin(), prompt.clean.end(), prompt.clean.back());
    EXPECT_EQ(*(first + 1), prompt.answer);
    EXPECT_EQ(prompt.corrupt[static_cast<std::size_t>(first + 1 - prompt.clean.begin())],
              prompt.wrong);
    EXPECT_EQ(std::count(prompt.clean.begin(), prompt.clean.end(), prompt.answer), 1);
    EXPECT_EQ(std::count(prompt.clean.begin(), prompt.clean.end(), prompt.wrong), 1);
    int changed = 0;
    for (std::size_t i = 0; i < 16; ++i) changed += prompt.clean[i] != prompt.corrupt[i];
    EXPECT_EQ(changed, 2);
  }
  EXPECT_EQ(tokens_of_cluster.size(), 40U);
}

TEST(VariedInduction, TheSeedDecides) {
  const VariedSizes one{.clusters = 2};
  VariedSizes two = one;
  two.seed = 2;
  EXPECT_EQ(varied_induction_prompts(one)[3].clean, varied_induction_prompts(one)[3].clean);
  EXPECT_NE(varied_induction_prompts(one)[3].clean, varied_induction_prompts(two)[3].clean);
  const VariedPrompt prompt = varied_induction_prompts(one)[0];
  EXPECT_NE(varied_metric(one, prompt.clean, prompt, {}),
            varied_metric(two, prompt.clean, prompt, {}));
}

TEST(VariedInduction, TooFewTokensAreRefused) {
  EXPECT_ANY_THROW(varied_induction_model({.base = {.n_tokens = 10}}));
  EXPECT_ANY_THROW(varied_induction_prompts({.base = {.n_positions = 15}}));
}

}  // namespace
}  // namespace attnscope::testing
