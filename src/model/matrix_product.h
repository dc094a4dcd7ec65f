// File: matrix_product.h
// The matrix product that attention in tiles computes with.
#pragma once

#include "attnscope/kernels/tiled_attention.h"

namespace attnscope {

// On the calling thread alone when that thread is in a parallel region.
template <typename T>
void multiply(const MatrixTask<T>& task);

}  // namespace attnscope
