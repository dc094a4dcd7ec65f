// File: cuda_finish.h
// The host's part of the statistics pass on a CUDA device: from its arrays to the statistics of
// attention_statistics.h.
#pragma once

#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/kernels/cuda_statistics.h"

namespace attnscope {

// A finished pass on the host.
struct CudaStatisticsArrays {
  CudaStatisticsOutput sums;          // its arrays, copied to the host
  const float* lse = nullptr;         // [h q], rows of Tq values
  const float* value_norm = nullptr;  // [h k] ‖f(x_j)‖
};

// The statistics that StatisticsAccumulator would give for the same pattern. Throws (internal,
// KE10) for a shape that makes no sense.
AttentionStatistics finish_cuda_statistics(const StatisticsShape& shape,
                                           const CudaStatisticsArrays& arrays);

}  // namespace attnscope
