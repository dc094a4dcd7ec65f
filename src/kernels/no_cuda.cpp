// What a build without CUDA answers.
#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

[[noreturn]] void fail() {
  throw Error(ErrorKind::output, "KE12",
              {.where = "attention statistics on CUDA",
               .what = "this attnscope was built without CUDA",
               .next = "use --device cpu, or configure with -DATTNSCOPE_CUDA=ON"});
}

}  // namespace

CudaLimits cuda_limits() {
  fail();
}

bool cuda_passes_read(MemoryPlace) {
  return false;
}

void launch_cuda_lse(const CudaStatisticsInput&, float*, void*) {
  fail();
}

void launch_cuda_statistics(const CudaStatisticsInput&, const CudaMaps&,
                            const CudaStatisticsOutput&, void*) {
  fail();
}

}  // namespace attnscope
