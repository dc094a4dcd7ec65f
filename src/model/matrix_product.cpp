#include "matrix_product.h"

#include <ATen/native/CPUBlas.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <vector>

namespace attnscope {
namespace {

template <typename T>
at::Tensor matrix(const T* data, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  // LibTorch has no tensors of constants; a product writes to its result alone.
  return at::from_blob(const_cast<T*>(data), {rows, columns}, {stride, 1},
                       at::TensorOptions(c10::CppTypeToScalarType<T>::value));
}

template <typename T>
void by_operator(const MatrixTask<T>& t) {
  const at::Tensor a = matrix(t.a, t.m, t.k, t.lda);
  const at::Tensor b = matrix(t.b, t.k, t.n, t.ldb);
  at::Tensor c = matrix(t.c, t.m, t.n, t.ldc);
  if (t.accumulate == Accumulate::yes) {
    at::addmm_out(c, c, a, b);
  } else {
    at::mm_out(c, a, b);
  }
}

#ifdef CPUBLAS_BRGEMM_F32F32F32
void by_small_blocks(const MatrixTask<float>& t) {
  at::native::cpublas::brgemm(t.m, t.n, t.k, t.lda, t.ldb, t.ldc, t.accumulate == Accumulate::yes,
                              t.a, t.b, t.c);
}

// Whether LibTorch has a small-block product for this processor.
bool has_small_blocks() {
  constexpr int kSide = 16;
  const std::vector<float> ones(kSide * kSide, 1.0F);
  std::vector<float> product(kSide * kSide);
  try {
    by_small_blocks({.m = kSide,
                     .n = kSide,
                     .k = kSide,
                     .a = ones.data(),
                     .lda = kSide,
                     .b = ones.data(),
                     .ldb = kSide,
                     .c = product.data(),
                     .ldc = kSide});
  } catch (const c10::Error&) {
    return false;
  }
  return std::all_of(product.begin(), product.end(),
                     [](float value) { return value == static_cast<float>(kSide); });
}

// Code is generated for each shape, so it pays for those that come again and again.
bool is_common(const MatrixTask<float>& t) {
  return t.m % 32 == 0 && t.n % 32 == 0 && t.k % 32 == 0;
}
#endif

}  // namespace

template <>
void multiply(const MatrixTask<float>& task) {
#ifdef CPUBLAS_BRGEMM_F32F32F32
  static const bool kSmallBlocks = has_small_blocks();
  if (kSmallBlocks && is_common(task)) return by_small_blocks(task);
#endif
  by_operator(task);
}

template <>
void multiply(const MatrixTask<double>& task) {
  by_operator(task);
}

}  // namespace attnscope
