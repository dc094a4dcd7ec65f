// The published truths of the hand-built models, reproduced by the runtime's own interventions.
#include <gtest/gtest.h>

#include <cmath>

#include "known_run.h"

namespace attnscope::testing {
namespace {

constexpr double kPrinted = 0.6e-6;  // half a unit of the last of six decimals

TEST(KnownInduction, Metric) {
  const Model model = load_known(known_induction_model());
  EXPECT_NEAR(metric_of(model), KnownInductionTruth{}.metric, kPrinted);
  EXPECT_NEAR(metric_of(model), 5.001724, kPrinted);
}

TEST(KnownInduction, ZeroAblationOfEachHead) {
  const Model model = load_known(known_induction_model());
  const double base = metric_of(model);
  for (const KnownHead& head : KnownInductionTruth{}.heads) {
    const double effect = metric_of(model, {zero_head(head.layer, head.head)}) - base;
    if (head.ablation_effect == 0) {
      EXPECT_EQ(effect, 0) << head.what;  // exactly
    } else {
      EXPECT_NEAR(effect, head.ablation_effect, kPrinted) << head.what;
    }
  }
}

// Attention ranks the loud decoy first; causality ranks it last.
TEST(KnownInduction, LoudHeadsAttendMoreThanTheOneThatMatters) {
  const Model model = load_known(known_induction_model());
  const HookId first{Site::pattern, 0};
  const HookId second{Site::pattern, 1};
  const auto maps = record(model, known_induction_prompt(), {first, second});
  const double decoy = maps.at(first)[0][1].select(1, 0).mean().item<double>();
  EXPECT_GT(decoy, 0.99999);
  const at::Tensor quiet = maps.at(second)[0][2];
  for (int i = 0; i < 21; ++i) EXPECT_NEAR(quiet[i][0].item<double>(), 1.0 / (i + 1), 1e-15);
}

// The mean over the rows of the second copy of the weight on the token after the earlier copy,
// which is 1/(1 + e^(−β/2) + (i − 1)·e^(−β)) at row i.
TEST(KnownInduction, PrefixScore) {
  const Model model = load_known(known_induction_model());
  const HookId pattern{Site::pattern, 1};
  const at::Tensor map = record(model, known_induction_prompt(), {pattern}).at(pattern)[0][0];
  double score = 0;
  for (int i = 11; i <= 20; ++i) {
    const double weight = map[i][i - 9].item<double>();
    EXPECT_NEAR(weight, 1 / (1 + std::exp(-10.0) + (i - 1) * std::exp(-20.0)), 1e-7);
    score += weight / 10;
  }
  EXPECT_NEAR(score, KnownInductionTruth{}.prefix_score, kPrinted);
}

// The statistic of the same name sees the same: induction mass of head 1.0, duplicate mass of the
// decoy 1.1, and nothing of the kind elsewhere.
TEST(KnownInduction, HeadStatistics) {
  class Statistics final : public Observer {
   public:
    Want want(HookId hook) const override {
      return hook.site == Site::pattern ? Want{.statistics = true} : Want::nothing();
    }
    void on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                       const Batch&) override {
      layers[hook.layer] = rows.front();
    }
    double get(int layer, int head, HeadStat stat) const {
      return layers.at(layer)
          .head_stats[static_cast<std::size_t>(head * kHeadStatCount + static_cast<int>(stat))];
    }
    std::map<int, AttentionStatistics> layers;
  } statistics;
  const Model model = load_known(known_induction_model());
  Taps taps;
  taps.observers.push_back(&statistics);
  model.run(make_batch({{.ids = known_induction_prompt()}}), taps, {.engine = Engine::reference});
  EXPECT_NEAR(statistics.get(1, 0, HeadStat::induction), 0.999955, kPrinted);
  EXPECT_NEAR(statistics.get(0, 0, HeadStat::previous), 1, 1e-7);
  EXPECT_NEAR(statistics.get(0, 1, HeadStat::sink), 1, 1e-6);
  // Two keys are equal to the query's token: itself and the earlier copy share the weight.
  EXPECT_NEAR(statistics.get(1, 1, HeadStat::duplicate), 0.5, 1e-6);
  EXPECT_NEAR(statistics.get(1, 2, HeadStat::entropy_norm), 1, 1e-6);
  // The decoys and the previous-token head write nothing or elsewhere; only BOS has no value.
  EXPECT_EQ(statistics.get(0, 1, HeadStat::norm_weighted), 0);
  EXPECT_EQ(statistics.get(1, 1, HeadStat::norm_weighted), 0);
  EXPECT_NEAR(statistics.get(0, 0, HeadStat::norm_weighted), 1, 1e-6);
}

// One layer, sixteen tokens: the quiet head never attends more than 1/16 and makes every logit.
TEST(KnownQuiet, LowAttentionAllTheEffect) {
  const Model model = load_known(known_quiet_model());
  std::vector<std::int64_t> ids;
  for (int t = 0; t < 16; ++t) ids.push_back(t);
  const HookId pattern{Site::pattern, 0};
  const HookId logits{Site::logits};
  const auto values = record(model, ids, {pattern, logits});
  const at::Tensor last = values.at(pattern)[0].select(1, 15);
  EXPECT_NEAR(1 - last[0][0].item<double>(), 15 * std::exp(-20.0), 1e-13);  // 3e-8
  EXPECT_NEAR(last[1].max().item<double>(), 0.0625, 1e-15);
  const at::Tensor out = values.at(logits)[0][15];
  EXPECT_EQ(out[0].item<double>(), 0);
  for (int t = 1; t < 16; ++t) EXPECT_NEAR(out[t].item<double>(), 3.75, 1e-13);

  const auto without_loud = record(model, ids, {logits}, {zero_head(0, 0)});
  EXPECT_TRUE(at::equal(without_loud.at(logits), values.at(logits)));
  const auto without_quiet = record(model, ids, {logits}, {zero_head(0, 1)});
  EXPECT_EQ(without_quiet.at(logits).abs().max().item<double>(), 0);
}

TEST(KnownInduction, OtherSizesKeepTheirClosedForms) {
  const KnownAnswerSizes sizes{
      .n_tokens = 40, .n_positions = 30, .sharpness = 16, .gain = 3, .quiet_gain = 0};
  const Model model = load_known(known_induction_model(sizes));
  double expected = 0;
  for (int i = 11; i <= 19; ++i) {
    expected += 3 / (1 + std::exp(-8.0) + (i - 1) * std::exp(-16.0)) / 9;
  }
  EXPECT_NEAR(metric_of(model), expected, 1e-5);
}

TEST(KnownInduction, MetricNeedsTheWholePrompt) {
  const std::vector<double> logits(20 * 16);
  EXPECT_ANY_THROW(known_induction_metric(logits, 16));
}

}  // namespace
}  // namespace attnscope::testing
