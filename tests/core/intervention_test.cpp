#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attnscope/core/tap_table.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

constexpr HookId kZ = {Site::z, 0};
constexpr HookId kResidual = {Site::resid_pre, 0};
constexpr HookId kPattern = {Site::pattern, 0};
constexpr HookId kScores = {Site::attn_scores, 0};

// A batch of rows of 3 and 2 tokens, padded on the left, and a model of one layer.
class InterventionTest : public ::testing::Test {
 protected:
  InterventionTest()
      : batch_(make_batch({{.ids = {1, 2, 3}}, {.ids = {4, 5}}}, PadSide::left)),
        frames_(row_frames(batch_)),
        inventory_{1, {kResidual, {Site::ln1_scale, 0}, kScores, kPattern, kZ}} {}

  TapTable table() const { return {taps_, inventory_, batch_, frames_}; }

  // z [b=2 q=3 h=2 d=1] holding 1 … 12.
  static at::Tensor z() {
    return at::arange(1, 13, at::TensorOptions(at::kDouble)).view({2, 3, 2, 1});
  }

  // Applies one intervention to z.
  at::Tensor changed(Intervention intervention) {
    intervention.hook = kZ;
    taps_.interventions = {std::move(intervention)};
    TapTable table = this->table();
    const at::Tensor before = z();
    const at::Tensor after = table.apply(Site::z, 0, before);
    EXPECT_TRUE(at::equal(before, z())) << "the input was written to";
    report_ = table.finish().at(0);
    return after;
  }

  std::string error_of(Intervention intervention) {
    taps_.interventions = {std::move(intervention)};
    try {
      TapTable table = this->table();
      table.apply(Site::z, 0, z());
      table.finish();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  static at::Tensor expected(const std::vector<double>& values) {
    return at::tensor(values, at::TensorOptions(at::kDouble)).view({2, 3, 2, 1});
  }

  Batch batch_;
  std::vector<RowFrame> frames_;
  SiteInventory inventory_;
  Taps taps_;
  InterventionReport report_;
};

TEST_F(InterventionTest, UnusedHooksAreNull) {
  EXPECT_EQ(table().users(Site::z, 0), nullptr);
  EXPECT_EQ(table().users(Site::pattern, 0), nullptr);
}

TEST_F(InterventionTest, ZeroOfOneHeadLeavesPadsAndOtherHeadsAlone) {
  const at::Tensor after = changed({.operation = Operation::zero, .heads = {1}});
  EXPECT_TRUE(at::equal(after, expected({1, 0, 3, 0, 5, 0, 7, 8, 9, 0, 11, 0})));
  EXPECT_EQ(report_.fired, 2);
  EXPECT_DOUBLE_EQ(report_.change_norm, std::sqrt(4.0 + 16 + 36 + 100 + 144));
}

TEST_F(InterventionTest, RowsAndPositionsOfTheUnpaddedRow) {
  const at::Tensor after =
      changed({.operation = Operation::scale, .rows = {1}, .q_positions = {0}, .factor = 10});
  EXPECT_TRUE(at::equal(after, expected({1, 2, 3, 4, 5, 6, 7, 8, 90, 100, 11, 12})));
  EXPECT_EQ(report_.fired, 1);
}

TEST_F(InterventionTest, LastPositionOfEachRow) {
  const at::Tensor after =
      changed({.operation = Operation::zero, .heads = {0}, .q_positions = {-1}});
  EXPECT_TRUE(at::equal(after, expected({1, 2, 3, 4, 0, 6, 7, 8, 9, 10, 0, 12})));
}

TEST_F(InterventionTest, ScatteredPositionsAndHeads) {
  const at::Tensor after = changed({.operation = Operation::add,
                                    .rows = {0},
                                    .heads = {1, 0},
                                    .q_positions = {0, 2},
                                    .value = at::tensor({100.0, 200.0}).view({2, 1})});
  EXPECT_TRUE(at::equal(after, expected({201, 102, 3, 4, 205, 106, 7, 8, 9, 10, 11, 12})));
}

TEST_F(InterventionTest, SetBroadcastsToTheSelectedPart) {
  const at::Tensor after = changed(
      {.operation = Operation::set, .rows = {0}, .heads = {0}, .value = at::scalar_tensor(7.0)});
  EXPECT_TRUE(at::equal(after, expected({7, 2, 7, 4, 7, 6, 7, 8, 9, 10, 11, 12})));
}

TEST_F(InterventionTest, AValueOfTheSitesShapeIsReadAtTheSamePlace) {
  const at::Tensor value = -z();
  const at::Tensor after =
      changed({.operation = Operation::set, .heads = {1}, .q_positions = {-1}, .value = value});
  EXPECT_TRUE(at::equal(after, expected({1, 2, 3, 4, 5, -6, 7, 8, 9, 10, 11, -12})));
}

TEST_F(InterventionTest, CopyReadsTheSourceAsItWasBeforeAnyChange) {
  taps_.interventions = {{.hook = kZ, .operation = Operation::zero, .rows = {0}},
                         {.hook = kZ,
                          .operation = Operation::copy_from_row,
                          .rows = {1},
                          .q_positions = {0, 1},
                          .source_row = 0}};
  TapTable table = this->table();
  const at::Tensor after = table.apply(Site::z, 0, z());
  EXPECT_TRUE(at::equal(after, expected({0, 0, 0, 0, 0, 0, 7, 8, 1, 2, 3, 4})));
  EXPECT_EQ(table.finish().size(), 2u);
}

TEST_F(InterventionTest, CopyBetweenRowsOfUnequalLengthNeedsPositions) {
  EXPECT_NE(error_of({.hook = kZ, .operation = Operation::copy_from_row, .rows = {1}})
                .find("differ in length"),
            std::string::npos);
}

TEST_F(InterventionTest, NeverFiredIsAnError) {
  taps_.interventions = {{.hook = kResidual}};
  TapTable table = this->table();
  table.apply(Site::z, 0, z());
  try {
    table.finish();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "CO55");
    EXPECT_NE(std::string(error.what()).find("blocks.0.hook_resid_pre"), std::string::npos);
  }
}

TEST_F(InterventionTest, RefusesWhatDoesNotFit) {
  const auto mentions = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(mentions(error_of({.hook = {Site::z, 3}}), "no such hook"));
  EXPECT_TRUE(mentions(error_of({.hook = {Site::ln1_scale, 0}}), "observed, not changed"));
  EXPECT_TRUE(mentions(error_of({.hook = kZ, .rows = {2}}), "outside the batch"));
  EXPECT_TRUE(mentions(error_of({.hook = kZ, .heads = {2}}), "head 2 does not exist"));
  EXPECT_TRUE(mentions(error_of({.hook = kZ, .q_positions = {2}}), "position 2 is outside"));
  EXPECT_TRUE(mentions(error_of({.hook = kZ, .k_positions = {0}}), "key positions"));
  EXPECT_TRUE(mentions(error_of({.hook = kResidual, .heads = {0}}), "no heads"));
  EXPECT_TRUE(mentions(error_of({.hook = kZ, .operation = Operation::uniform}), "pattern only"));
  EXPECT_TRUE(
      mentions(error_of({.hook = kZ, .operation = Operation::minus_infinity}), "scores only"));
  EXPECT_TRUE(mentions(error_of({.hook = kZ, .operation = Operation::set}), "no value"));
  EXPECT_TRUE(mentions(error_of({.hook = kZ, .operation = Operation::set, .value = at::zeros({5})}),
                       "[5]"));
}

TEST_F(InterventionTest, EditsMustKeepShapeTypeAndDevice) {
  taps_.edits[kZ] = [](HookId, const at::Tensor& value, const Batch&) {
    return value.narrow(3, 0, 1).narrow(1, 0, 2);
  };
  try {
    TapTable table = this->table();
    table.apply(Site::z, 0, z());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("[b=2 q=3 h=2 d=1], got [2 2 2 1]"), std::string::npos)
        << error.what();
  }
  taps_.edits[kZ] = [](HookId, const at::Tensor& value, const Batch&) {
    return value.to(at::kFloat);
  };
  TapTable table = this->table();
  EXPECT_THROW(table.apply(Site::z, 0, z()), Error);
}

// Maps [b=2 h=2 q=3 k=3] holding 0 … 35, given in two blocks of queries.
class MapInterventionTest : public InterventionTest {
 protected:
  at::Tensor changed_maps(Intervention intervention) {
    taps_.interventions = {std::move(intervention)};
    TapTable table = this->table();
    at::Tensor maps = at::arange(36, at::TensorOptions(at::kDouble)).view({2, 2, 3, 3});
    const std::vector<int> heads = {0, 1};
    const Site site = taps_.interventions[0].hook.site;
    for (const auto& [begin, count] : {std::pair{0, 2}, std::pair{2, 1}}) {
      table.change_maps(*table.users(site, 0), {maps.narrow(2, begin, count), heads, begin, 3},
                        AttentionSpec{});
    }
    report_ = table.finish().at(0);
    return maps;
  }
};

TEST_F(MapInterventionTest, KnocksOutOneEdge) {
  const at::Tensor maps = changed_maps({.hook = kScores,
                                        .operation = Operation::minus_infinity,
                                        .rows = {1},
                                        .heads = {1},
                                        .q_positions = {1},
                                        .k_positions = {0}});
  at::Tensor want = at::arange(36, at::TensorOptions(at::kDouble)).view({2, 2, 3, 3});
  // Row 1 starts in slot 1: query 1 lies in slot 2, key 0 in slot 1.
  want[1][1][2][1] = -std::numeric_limits<double>::infinity();
  EXPECT_TRUE(at::equal(maps, want));
  EXPECT_EQ(report_.fired, 1);
  EXPECT_TRUE(std::isinf(report_.change_norm));
}

TEST_F(MapInterventionTest, UniformRowsSpreadOverVisibleKeys) {
  const at::Tensor maps =
      changed_maps({.hook = kPattern, .operation = Operation::uniform, .rows = {1}, .heads = {0}});
  at::Tensor want = at::arange(36, at::TensorOptions(at::kDouble)).view({2, 2, 3, 3});
  want[1][0][1] = at::tensor({0.0, 1.0, 0.0});
  want[1][0][2] = at::tensor({0.0, 0.5, 0.5});
  EXPECT_TRUE(at::equal(maps, want));
}

TEST_F(MapInterventionTest, AValueForAllQueriesIsCutByBlocks) {
  const at::Tensor rows = at::tensor({10.0, 20.0, 30.0}).view({3, 1});
  const at::Tensor maps = changed_maps(
      {.hook = kPattern, .operation = Operation::set, .rows = {0}, .heads = {1}, .value = rows});
  at::Tensor want = at::arange(36, at::TensorOptions(at::kDouble)).view({2, 2, 3, 3});
  want[0][1] = rows.expand({3, 3});
  EXPECT_TRUE(at::equal(maps, want));
  EXPECT_EQ(report_.fired, 1) << "a row that spans two blocks counts once";
}

TEST_F(MapInterventionTest, WholeMapsAreReadAtTheSamePlace) {
  const at::Tensor whole = -at::arange(36, at::TensorOptions(at::kDouble)).view({2, 2, 3, 3});
  const at::Tensor maps =
      changed_maps({.hook = kPattern, .operation = Operation::set, .rows = {0}, .value = whole});
  EXPECT_TRUE(at::equal(maps[0], whole[0]));
  EXPECT_TRUE(at::equal(maps[1], -whole[1]));
}

}  // namespace
}  // namespace attnscope
