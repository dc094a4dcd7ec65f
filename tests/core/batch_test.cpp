#include "attnscope/core/batch.h"

#include <gtest/gtest.h>

#include "attnscope/core/row_frame.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

at::Tensor longs(const std::vector<std::int64_t>& values, at::IntArrayRef shape) {
  return at::tensor(values, at::TensorOptions(at::kLong)).view(shape);
}

TEST(Batch, PadsOnTheRight) {
  const Batch batch = make_batch({{.ids = {5, 6, 7}}, {.ids = {8}}}, PadSide::right);
  EXPECT_TRUE(at::equal(batch.ids, longs({5, 6, 7, 8, 0, 0}, {2, 3})));
  EXPECT_TRUE(at::equal(batch.position_ids, longs({0, 1, 2, 0, 0, 0}, {2, 3})));
  EXPECT_EQ(batch.rows[1].start, 0);
  EXPECT_EQ(batch.rows[1].length, 1);
  EXPECT_TRUE(batch.padded());
  EXPECT_TRUE(at::equal(batch.real.to(at::kLong), longs({1, 1, 1, 1, 0, 0}, {2, 3})));
}

TEST(Batch, PadsOnTheLeftAndCountsRealTokensOnly) {
  const Batch batch = make_batch({{.ids = {5, 6, 7}}, {.ids = {8, 9}}}, PadSide::left);
  EXPECT_TRUE(at::equal(batch.ids, longs({5, 6, 7, 0, 8, 9}, {2, 3})));
  EXPECT_TRUE(at::equal(batch.position_ids, longs({0, 1, 2, 0, 0, 1}, {2, 3})));
  EXPECT_EQ(batch.rows[1].start, 1);
}

TEST(Batch, WithoutPadsHasNoMask) {
  EXPECT_FALSE(make_batch({{.ids = {1, 2}}, {.ids = {3, 4}}}).padded());
}

TEST(Batch, KeepsGivenPositionsAndTypes) {
  const Batch batch =
      make_batch({{.ids = {5, 6}, .token_types = {0, 1}, .position_ids = {4, 9}}, {.ids = {7}}},
                 PadSide::left);
  EXPECT_TRUE(at::equal(batch.position_ids, longs({4, 9, 0, 0}, {2, 2})));
  EXPECT_TRUE(at::equal(batch.token_types, longs({0, 1, 0, 0}, {2, 2})));
}

TEST(Batch, RefusesEmptyAndUnequalRows) {
  EXPECT_THROW(make_batch({}), Error);
  EXPECT_THROW(make_batch({{.ids = {}}}), Error);
  EXPECT_THROW(make_batch({{.ids = {1, 2}, .token_types = {0}}}), Error);
  EXPECT_THROW(make_batch({{.ids = {1, 2}, .position_ids = {0, 1, 2}}}), Error);
}

TEST(Batch, UnpaddedPartsHoldNoPad) {
  const Batch batch = make_batch({{.ids = {5, 6, 7}}, {.ids = {8, 9}}}, PadSide::left);
  const at::Tensor value = at::arange(6, at::TensorOptions(at::kLong)).view({2, 3, 1});
  EXPECT_TRUE(at::equal(unpadded(value, batch, 1), longs({4, 5}, {2, 1})));
  const at::Tensor maps = at::arange(18, at::TensorOptions(at::kLong)).view({2, 1, 3, 3});
  EXPECT_TRUE(at::equal(unpadded_map(maps, batch, 1), longs({13, 14, 16, 17}, {1, 2, 2})));
}

TEST(RowFrame, VisibleKeysOfMasksAndWindows) {
  const RowFrame frame = {.q_start = 2, .q_length = 4, .k_start = 2, .k_length = 4};
  AttentionSpec causal;
  const KeyRange second = frame.visible(3, causal);
  EXPECT_EQ(second.begin, 2);
  EXPECT_EQ(second.end, 4);
  AttentionSpec window = causal;
  window.window = 2;
  EXPECT_EQ(frame.visible(5, window).begin, 4);
  EXPECT_EQ(frame.visible(5, window).end, 6);
  AttentionSpec both;
  both.mask = MaskKind::bidirectional;
  EXPECT_EQ(frame.visible(2, both).end, 6);
  const KeyRange pad = frame.visible(1, both);
  EXPECT_EQ(pad.begin, pad.end);
}

TEST(RowFrame, AResumedRowCountsPositionsFromItsStart) {
  const RowFrame frame = {.q_start = 0, .q_length = 2, .first = 3, .k_start = 0, .k_length = 5};
  EXPECT_EQ(frame.visible(0, AttentionSpec{}).end, 4);
  EXPECT_EQ(frame.visible(1, AttentionSpec{}).end, 5);
  EXPECT_EQ(frame.slot(4), 1);
}

}  // namespace
}  // namespace attnscope
