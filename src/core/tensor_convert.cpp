#include "attnscope/core/tensor_convert.h"

#include <array>
#include <utility>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

constexpr std::array<std::pair<DType, at::ScalarType>, 8> kTypes = {{
    {DType::f16, at::kHalf},
    {DType::bf16, at::kBFloat16},
    {DType::f32, at::kFloat},
    {DType::f64, at::kDouble},
    {DType::i32, at::kInt},
    {DType::i64, at::kLong},
    {DType::u8, at::kByte},
    {DType::boolean, at::kBool},
}};

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  for (const auto& [own, torch] : kTypes) {
    if (own == dtype) return torch;
  }
  throw Error(ErrorKind::internal, "CO20", {.what = "unknown data type"});
}

DType dtype_of(const at::Tensor& tensor) {
  for (const auto& [own, torch] : kTypes) {
    if (torch == tensor.scalar_type()) return own;
  }
  throw Error(ErrorKind::internal, "CO21",
              {.what = "a tensor of a type that is not stored",
               .got = c10::toString(tensor.scalar_type())});
}

TensorView view_of(const at::Tensor& tensor) {
  if (!tensor.is_cpu() || tensor.dim() > TensorView::kMaxRank) {
    throw Error(ErrorKind::internal, "CO22",
                {.what = "a tensor that cannot be viewed",
                 .expected = "CPU memory and at most 6 axes",
                 .got = tensor.device().str() + ", " + std::to_string(tensor.dim()) + " axes"});
  }
  TensorView view;
  view.data = tensor.const_data_ptr();
  view.dtype = dtype_of(tensor);
  view.rank = static_cast<int>(tensor.dim());
  for (int i = 0; i < view.rank; ++i) {
    view.shape[static_cast<std::size_t>(i)] = tensor.size(i);
    view.strides[static_cast<std::size_t>(i)] = tensor.stride(i);
  }
  return view;
}

at::Tensor tensor_from(const TensorView& view) {
  const auto rank = static_cast<std::size_t>(view.rank);
  const at::IntArrayRef shape(view.shape.data(), rank);
  const at::IntArrayRef strides(view.strides.data(), rank);
  return at::from_blob(const_cast<void*>(view.data), shape, strides,
                       at::TensorOptions(scalar_type(view.dtype)))
      .clone();
}

}  // namespace attnscope
