// The checks must pass on every family and fail where an identity does not hold.
#include "attnscope/probes/doctor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "attnscope/probes/known_answer.h"
#include "checks.h"
#include "testing/fixtures.h"

namespace attnscope {
namespace {

Model load(const Checkpoint& checkpoint, DType dtype = DType::f32) {
  Warnings warnings;
  return Model::load(checkpoint, {.dtype = dtype}, warnings);
}

Model load_family(const std::string& family, DType dtype = DType::f32) {
  Warnings warnings;
  return load(open_checkpoint(testing::fixture("families/" + family), {}, warnings), dtype);
}

std::map<std::string, DoctorCheck> by_name(const std::vector<DoctorCheck>& checks) {
  std::map<std::string, DoctorCheck> out;
  for (const DoctorCheck& check : checks) out[check.name] = check;
  return out;
}

int count(const std::vector<DoctorCheck>& checks, CheckResult result) {
  int n = 0;
  for (const DoctorCheck& check : checks) n += check.result == result ? 1 : 0;
  return n;
}

class Families : public ::testing::TestWithParam<const char*> {};

TEST_P(Families, PassInFloat32AndFloat64) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::vector<DoctorCheck> checks = check_model(load_family(GetParam(), dtype), {});
    EXPECT_TRUE(all_passed(checks));
    for (const DoctorCheck& check : checks) {
      EXPECT_NE(check.result, CheckResult::failed)
          << check.name << ": " << check.measured << " in layer " << check.layer;
    }
    EXPECT_GE(count(checks, CheckResult::passed), 7);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Families,
                         ::testing::Values("gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3",
                                           "gemma2", "bert", "roberta", "distilbert", "albert"));

TEST(Doctor, ChecksWhatTheKindOfBlockHas) {
  const auto pre = by_name(check_model(load_family("llama"), {}));
  EXPECT_EQ(pre.at("resid_mid + mlp_out = resid_post").result, CheckResult::passed);
  EXPECT_EQ(pre.at("normalized_resid_mid = norm(resid_mid)").result, CheckResult::not_applicable);
  EXPECT_EQ(pre.at("earlier positions do not see later tokens, bit for bit").result,
            CheckResult::passed);

  const auto post = by_name(check_model(load_family("bert"), {}));
  EXPECT_EQ(post.at("normalized_resid_mid + mlp_out = resid_post").result, CheckResult::passed);
  EXPECT_EQ(post.at("normalized_resid_mid = norm(resid_mid)").result, CheckResult::passed);
  EXPECT_EQ(post.at("earlier positions do not see later tokens, bit for bit").result,
            CheckResult::not_applicable);

  const auto parallel = by_name(check_model(load_family("gpt_neox"), {}));
  EXPECT_EQ(parallel.at("resid_pre + attn_out + mlp_out = resid_post").result, CheckResult::passed);
}

TEST(Doctor, AModelWhoseHeadsWriteNothingFails) {
  const Model silent = load(known_induction_model({.gain = 0, .quiet_gain = 0}));
  const std::vector<DoctorCheck> checks = check_model(silent, {});
  EXPECT_EQ(by_name(checks).at("uniform maps: the output moves").result, CheckResult::failed);
  EXPECT_FALSE(all_passed(checks));
  EXPECT_TRUE(all_passed(check_model(load(known_induction_model()), {})));
}

TEST(Doctor, NanScoresFailTheSums) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto checks = by_name(check_model(load(known_induction_model({.sharpness = nan})), {}));
  EXPECT_EQ(checks.at("resid_pre + attn_out = resid_post").result, CheckResult::failed);
}

TEST(Worst, KeepsTheLargestErrorAgainstWhatIsAllowed) {
  const at::Tensor one = at::ones({3}, at::kDouble);
  Worst worst("x");
  worst.compare(one + 1e-6, one, 1e-5, 0);
  worst.compare(one + 9e-6, one, 1e-5, 1);
  worst.compare(one * 100 + 2e-5, one * 100, 1e-5, 2);
  DoctorCheck check = worst.finish("");
  EXPECT_EQ(check.result, CheckResult::passed);
  EXPECT_EQ(check.layer, 1);
  EXPECT_NEAR(check.measured, 9e-6, 1e-12);
  worst.compare(one + 1.1e-5, one, 1e-5, 3);
  worst.compare(one, one, 1e-5, 4);
  check = worst.finish("");
  EXPECT_EQ(check.result, CheckResult::failed);
  EXPECT_EQ(check.layer, 3);
}

TEST(Worst, NanAndAnyErrorWhereNoneIsAllowedFail) {
  const at::Tensor one = at::ones({3}, at::kDouble);
  Worst nan("x");
  nan.compare(one * std::numeric_limits<double>::quiet_NaN(), one, 1e-5, 0);
  EXPECT_EQ(nan.finish("").result, CheckResult::failed);
  Worst exact("x");
  exact.compare(one + 1e-15, one, 0, 0);
  EXPECT_EQ(exact.finish("").result, CheckResult::failed);
  Worst same("x");
  same.compare(one, one, 0, 0);
  EXPECT_EQ(same.finish("").result, CheckResult::passed);
  EXPECT_EQ(Worst("x").finish("nothing there").result, CheckResult::not_applicable);
}

}  // namespace
}  // namespace attnscope
