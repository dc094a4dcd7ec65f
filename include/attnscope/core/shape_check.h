// File: shape_check.h
// The one checker of shapes: what it expects is named, so that its message reads
//   pattern: expected [b=2 h=12 q=7 k=7], got [2 12 7 6]
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

// One axis that is expected: its letter in the notation of site.h and its size.
struct Axis {
  std::string name;
  std::int64_t size = 0;
};

// Throws Error (exit 2) when `tensor` has other axes. `name` is what the caller calls it.
void expect_shape(const at::Tensor& tensor, std::string_view name, std::span<const Axis> axes);
void expect_shape(const at::Tensor& tensor, std::string_view name,
                  std::initializer_list<Axis> axes);

// Throws Error (exit 2) when `tensor` has another shape, dtype or device than `like`. `dims` names
// the axes of `like` ("b h q k").
void expect_like(const at::Tensor& tensor, std::string_view name, const at::Tensor& like,
                 std::string_view dims);

// "[2 12 7 7]", for messages.
std::string shape_text(at::IntArrayRef sizes);

}  // namespace attnscope
