// A backup head hides the head it stands behind: single ablations mislead, joint and conditional
// ones do not.
#include <gtest/gtest.h>

#include "known_run.h"

namespace attnscope::testing {
namespace {

constexpr double kPrinted = 0.6e-9;  // half a unit of the last of nine decimals

double change(const Model& model, const std::vector<Intervention>& interventions) {
  return metric_of(model, interventions) - metric_of(model);
}

TEST(KnownBackup, SingleAblationsHideTheMainHead) {
  const Model model = load_known(known_backup_model());
  const KnownBackupTruth truth;
  EXPECT_NEAR(metric_of(model), truth.metric, kPrinted);
  EXPECT_NEAR(change(model, {zero_head(1, 0)}), truth.main_removed, kPrinted);
  EXPECT_NEAR(change(model, {zero_head(2, 0)}), truth.backup_removed, kPrinted);
  EXPECT_NEAR(change(model, {zero_head(0, 0)}), truth.previous_removed, kPrinted);
  EXPECT_NEAR(truth.main_removed, -.00023, .000005);
}

TEST(KnownBackup, RemovingBothTakesEverything) {
  const Model model = load_known(known_backup_model());
  const KnownBackupTruth truth;
  const double both = change(model, {zero_head(1, 0), zero_head(2, 0)});
  EXPECT_NEAR(both, truth.both_removed, kPrinted);
  EXPECT_NEAR(both, -metric_of(model), 1e-12);
  // What the backup is worth once the main head is gone, against what it is worth with it there.
  const double given_main_gone = both - change(model, {zero_head(1, 0)});
  EXPECT_NEAR(truth.backup_removed - given_main_gone, 5, 1e-3);
}

TEST(KnownBackup, TheDirectEffectOfTheMainHeadIsAllOfIt) {
  const Model model = load_known(known_backup_model());
  const HookId written{Site::attn_out, 2};
  const at::Tensor clean = record(model, known_induction_prompt(), {written}).at(written)[0];
  const double direct = change(
      model, {zero_head(1, 0), {.hook = written, .operation = Operation::set, .value = clean}});
  EXPECT_NEAR(direct, KnownBackupTruth{}.main_direct, kPrinted);
  EXPECT_NEAR(direct, -4.99977, 0.5e-5);
}

TEST(KnownBackup, TheBackupWaitsOnBos) {
  const Model model = load_known(known_backup_model());
  const HookId pattern{Site::pattern, 2};
  const at::Tensor map = record(model, known_induction_prompt(), {pattern}).at(pattern)[0][0];
  double on_bos = 0;
  for (int i = kKnownFirstRow; i <= kKnownLastRow; ++i) on_bos += map[i][0].item<double>() / 9;
  EXPECT_NEAR(on_bos, KnownBackupTruth{}.backup_on_bos, kPrinted);
  EXPECT_NEAR(on_bos, .99995, 0.5e-5);
}

}  // namespace
}  // namespace attnscope::testing
