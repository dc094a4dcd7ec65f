#include "attnscope/sites/tensor_view.h"

namespace attnscope {

std::size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
      return 2;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
  }
  return 0;
}

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::i8:
      return "int8";
    case DType::i16:
      return "int16";
    case DType::i32:
      return "int32";
    case DType::i64:
      return "int64";
    case DType::u8:
      return "uint8";
    case DType::boolean:
      return "bool";
  }
  return "unknown";
}

std::int64_t TensorView::numel() const {
  std::int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= shape[static_cast<std::size_t>(i)];
  return n;
}

bool TensorView::is_contiguous() const {
  std::int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    if (shape[axis] == 0) return true;
    // The stride of an axis of one element is never used.
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

TensorView contiguous_view(const void* data, DType dtype,
                           std::initializer_list<std::int64_t> shape) {
  TensorView view{.data = data, .dtype = dtype, .rank = static_cast<int>(shape.size())};
  std::size_t axis = 0;
  for (const std::int64_t n : shape) view.shape[axis++] = n;
  std::int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.strides[static_cast<std::size_t>(i)] = stride;
    stride *= view.shape[static_cast<std::size_t>(i)];
  }
  return view;
}

}  // namespace attnscope
