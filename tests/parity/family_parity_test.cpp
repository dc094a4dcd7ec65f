// Every family against its oracle: logits, maps, z, residuals, single-head ablations, padded rows.
#include <gtest/gtest.h>

#include <cstdio>

#include "attnscope/support/error.h"
#include "family_comparison.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

class FamilyParity : public ::testing::TestWithParam<std::string> {};

TEST_P(FamilyParity, Float64Reference) {
  const FamilyComparison comparison =
      compare_with_oracle(GetParam(), DType::f64, Engine::reference);
  EXPECT_EQ(lines(comparison.failures), "");
  EXPECT_GE(comparison.n_arrays, committed_arrays(GetParam()));
}

TEST_P(FamilyParity, Float32Reference) {
  const FamilyComparison comparison =
      compare_with_oracle(GetParam(), DType::f32, Engine::reference);
  EXPECT_EQ(lines(comparison.failures), "");
  EXPECT_GE(comparison.n_arrays, committed_arrays(GetParam()));
}

// A soft-cap cannot be fused; the fused engine then says so instead of leaving it out.
TEST_P(FamilyParity, FusedEngine) {
  if (GetParam() == "gemma2") {
    EXPECT_THROW(compare_with_oracle(GetParam(), DType::f32, Engine::aten), Error);
    return;
  }
  for (const DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(lines(compare_with_oracle(GetParam(), dtype, Engine::aten).failures), "");
  }
}

TEST_P(FamilyParity, Tiles) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(lines(compare_with_oracle(GetParam(), dtype, Engine::cpu_tiled).failures), "");
  }
}

TEST_P(FamilyParity, AutomaticEngine) {
  EXPECT_EQ(lines(compare_with_oracle(GetParam(), DType::f64, Engine::automatic).failures), "");
}

TEST_P(FamilyParity, PositionsThatCountPadsGiveTheOriginalsPaddedRows) {
  if (!original_counts_pads(GetParam())) return;
  const FamilyComparison comparison = compare_counting_pads(GetParam(), DType::f64);
  EXPECT_EQ(lines(comparison.failures), "");
  EXPECT_GE(comparison.n_arrays, 4);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyParity, ::testing::ValuesIn(families()),
                         [](const auto& family) { return family.param; });

// Not a check: the table of the README, printed by every run.
TEST(ParityTable, LargestDifferences) {
  const std::vector<std::string> kinds = {"resid_pre", "pattern",        "z",     "resid_post",
                                          "logits",    "ablated logits", "padded"};
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::printf("\n| family (%s, largest difference) | arrays |", dtype_name(dtype));
    for (const std::string& kind : kinds) std::printf(" %s |", kind.c_str());
    std::printf("\n|---|---|---|---|---|---|---|---|---|\n");
    for (const std::string& family : families()) {
      FamilyComparison comparison = compare_with_oracle(family, dtype, Engine::reference);
      std::printf("| %s | %d |", family.c_str(), comparison.n_arrays);
      for (const std::string& kind : kinds) std::printf(" %.1e |", comparison.largest[kind]);
      std::printf("\n");
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
