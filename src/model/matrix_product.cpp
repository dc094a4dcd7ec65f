#include "matrix_product.h"

#include <ATen/native/CPUBlas.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <vector>

namespace attnscope {
namespace {

namespace blas = at::native::cpublas;

// BLAS counts by columns: Cᵀ = Bᵀ·Aᵀ.
template <typename T>
void by_blas(const MatrixTask<T>& t) {
  const T beta = t.accumulate == Accumulate::yes ? T{1} : T{0};
  blas::gemm(at::native::TransposeType::NoTranspose, at::native::TransposeType::NoTranspose, t.n,
             t.m, t.k, T{1}, t.b, t.ldb, t.a, t.lda, beta, t.c, t.ldc);
}

#ifdef CPUBLAS_BRGEMM_F32F32F32
void by_small_blocks(const MatrixTask<float>& t) {
  blas::brgemm(t.m, t.n, t.k, t.lda, t.ldb, t.ldc, t.accumulate == Accumulate::yes, t.a, t.b, t.c);
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
  by_blas(task);
}

template <>
void multiply(const MatrixTask<double>& task) {
  by_blas(task);
}

}  // namespace attnscope
