// The CUDA passes of a program that has no device: linked into a test, these take the place of what
// no_cuda.cpp answers, and run the kernels' source on arrays of the host.
#include <cstring>

#include "attnscope/kernels/cuda_statistics.h"
#include "cuda_emulation.h"

namespace attnscope {
namespace {

constexpr std::int64_t kSharedBytes = 227 * 1024;  // of sm_90
constexpr std::int64_t kMemory = std::int64_t{1} << 40;

void clear(void* array, std::int64_t bytes) {
  if (bytes > 0) std::memset(array, 0, static_cast<std::size_t>(bytes));
}

}  // namespace

CudaLimits cuda_limits() {
  return {kSharedBytes, kMemory};
}

bool cuda_passes_read(MemoryPlace place) {
  return place == MemoryPlace::host;
}

void launch_cuda_lse(const CudaStatisticsInput& input, float* lse, void*) {
  testing::emulate_lse(cuda::make_lse_params(input, lse), input.value, {});
}

void launch_cuda_statistics(const CudaStatisticsInput& input, const CudaMaps& maps,
                            const CudaStatisticsOutput& output, void*) {
  const CudaStatisticsBytes bytes = plan_cuda_statistics(input, maps, cuda_limits()).bytes;
  if (input.q_begin == 0) {
    clear(output.key_sum, bytes.key_sum);
    clear(output.overview, bytes.overview);
  }
  clear(maps.tiles, bytes.tiles);
  testing::emulate(cuda::make_params(input, maps, output), input.value, {});
}

}  // namespace attnscope
