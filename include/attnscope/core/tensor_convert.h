// File: tensor_convert.h
// at::Tensor ⇄ the plain types of modules that know no LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "attnscope/sites/tensor_view.h"

namespace attnscope {

at::ScalarType scalar_type(DType dtype);
// Throws Error (internal) for a type that no file of ours holds.
DType dtype_of(const at::Tensor& tensor);

// A view of the tensor's memory, valid as long as the tensor. The tensor must lie on the CPU.
TensorView view_of(const at::Tensor& tensor);

// A tensor with a copy of the view's values.
at::Tensor tensor_from(const TensorView& view);

}  // namespace attnscope
