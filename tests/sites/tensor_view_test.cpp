#include "attnscope/sites/tensor_view.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(DTypeSize, MatchesTheTypesOfTheMachine) {
  EXPECT_EQ(dtype_size(DType::f32), sizeof(float));
  EXPECT_EQ(dtype_size(DType::f64), sizeof(double));
  EXPECT_EQ(dtype_size(DType::f16), 2U);
  EXPECT_EQ(dtype_size(DType::bf16), 2U);
  EXPECT_EQ(dtype_size(DType::i8), 1U);
  EXPECT_EQ(dtype_size(DType::i16), 2U);
  EXPECT_EQ(dtype_size(DType::i32), 4U);
  EXPECT_EQ(dtype_size(DType::i64), 8U);
  EXPECT_EQ(dtype_size(DType::u8), 1U);
  EXPECT_EQ(dtype_size(DType::boolean), 1U);
}

TEST(ContiguousView, HasRowMajorStrides) {
  const double data[24] = {};
  const TensorView view = contiguous_view(data, DType::f64, {2, 3, 4});
  EXPECT_EQ(view.rank, 3);
  EXPECT_EQ(view.numel(), 24);
  EXPECT_EQ(view.strides[0], 12);
  EXPECT_EQ(view.strides[1], 4);
  EXPECT_EQ(view.strides[2], 1);
  EXPECT_TRUE(view.is_contiguous());
}

TEST(TensorViewContiguity, SeesATransposeButNotTheStrideOfASingleElement) {
  const float data[6] = {};
  TensorView view = contiguous_view(data, DType::f32, {2, 3});
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  EXPECT_FALSE(view.is_contiguous());

  TensorView row = contiguous_view(data, DType::f32, {1, 6});
  row.strides[0] = 999;
  EXPECT_TRUE(row.is_contiguous());
}

TEST(TensorViewNumel, OfAScalarIsOneAndOfAnEmptyTensorZero) {
  EXPECT_EQ(contiguous_view(nullptr, DType::f32, {}).numel(), 1);
  EXPECT_EQ(contiguous_view(nullptr, DType::f32, {3, 0}).numel(), 0);
}

}  // namespace
}  // namespace attnscope
