// File: tensor_view.h
// A tensor as seen by modules that know no LibTorch: pointer, type, shape, strides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace attnscope {

enum class DType : std::uint8_t { f16, bf16, f32, f64, i8, i16, i32, i64, u8, boolean };

std::size_t dtype_size(DType dtype);  // bytes of one value
const char* dtype_name(DType dtype);  // "float32", "bfloat16", …

// A non-owning view of host memory. Strides are in elements.
struct TensorView {
  static constexpr int kMaxRank = 6;
  const void* data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};

  std::int64_t numel() const;
  bool is_contiguous() const;
};

// A contiguous view.
TensorView contiguous_view(const void* data, DType dtype,
                           std::initializer_list<std::int64_t> shape);

}  // namespace attnscope
