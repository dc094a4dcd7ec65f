// File: cuda_emulation.h
// Runs the blocks of the passes on the host, with a thread or a context for each CUDA
// thread: the same source as on the device. What the device adds is its tensor cores' product, its
// copies and its atomics; here they are a loop, memcpy and std::atomic_ref.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/kernels/cuda_statistics.h"
#include "cuda_statistics_body.h"

namespace attnscope::testing {

enum class Schedule : std::uint8_t {
  together,    // real threads, which meet at a barrier: what a thread sanitizer watches
  ascending,   // from one sync to the next one after the other, the lowest first
  descending,  // the highest first
};

// A thread sanitizer does not follow contexts.
#ifdef __SANITIZE_THREAD__
inline constexpr Schedule kUsualSchedule = Schedule::together;
#else
inline constexpr Schedule kUsualSchedule = Schedule::ascending;
#endif

// An asynchronous copy may happen at any time between its order and its end.
enum class CopyTime : std::uint8_t { ordered, awaited };

enum class BlockOrder : std::uint8_t { forward, backward };

struct Emulation {
  Schedule schedule = kUsualSchedule;
  CopyTime copies = CopyTime::awaited;
  BlockOrder blocks = BlockOrder::forward;
  std::optional<cuda::Sync> left_out;  // no thread waits there
};

// Pointers of `params` are to host memory. Shared memory starts as NaNs in every block.
void emulate_lse(const cuda::StatisticsParams& params, CudaValue value, const Emulation& emulation);
void emulate(const cuda::StatisticsParams& params, CudaValue value, const Emulation& emulation);

// The value of stored bits.
float half_value(std::uint16_t bits);
float bfloat_value(std::uint16_t bits);

}  // namespace attnscope::testing
