// The passes on a CUDA device: what a block is there, and the launches. The work itself is
// cuda_lse_body.h and cuda_statistics_body.h, which the tests also run on the host.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <string>

#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/support/error.h"
#include "cuda_lse_body.h"
#include "cuda_scalar_product.h"
#include "cuda_statistics_body.h"

namespace attnscope {
namespace cuda {
namespace {

class DeviceBlock {
 public:
  ATTNSCOPE_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }
  ATTNSCOPE_DEVICE int head() const { return static_cast<int>(blockIdx.y); }
  // Later queries of a causal layer see more keys: the longest blocks begin first.
  ATTNSCOPE_DEVICE int query_tile() const { return static_cast<int>(gridDim.x - 1 - blockIdx.x); }
  ATTNSCOPE_DEVICE void sync(Sync) const { __syncthreads(); }

  ATTNSCOPE_DEVICE static float exp(float x) { return __expf(x); }
  ATTNSCOPE_DEVICE static float log(float x) { return logf(x); }
  ATTNSCOPE_DEVICE static float tanh(float x) { return tanhf(x); }

  // Without waiting for the data; `shared` and `global` are multiples of 16 bytes.
  ATTNSCOPE_DEVICE void copy16(void* shared, const void* global) const {
    const auto place = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(global) : "memory");
  }
  // For this thread's own copies.
  ATTNSCOPE_DEVICE void wait_for_copies() const { asm volatile("cp.async.wait_all;" ::: "memory"); }

  ATTNSCOPE_DEVICE void add(std::uint64_t* global, std::uint64_t value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(global), value);
  }
  ATTNSCOPE_DEVICE void set_bits(std::uint64_t* global, std::uint64_t bits) const {
    atomicOr(reinterpret_cast<unsigned long long*>(global), bits);
  }
  ATTNSCOPE_DEVICE void raise(std::uint32_t* global, std::uint32_t value) const {
    atomicMax(global, value);
  }
  // Most values are not above what is there: they cost one read, which a warp shares.
  ATTNSCOPE_DEVICE void raise_shared(std::uint32_t* shared, std::uint32_t value) const {
    if (*static_cast<volatile std::uint32_t*>(shared) < value) atomicMax(shared, value);
  }
};

// Scores of one tile by tensor cores: each of four warps makes 16 rows.
template <class Half>
class TensorCoreProduct {
 public:
  using Stored = Half;
  static constexpr int kDepth = kSliceBytes / static_cast<int>(sizeof(Half));
  static constexpr int kPitch = kSlicePitch / static_cast<int>(sizeof(Half));

  ATTNSCOPE_DEVICE void clear() {
    ATTNSCOPE_UNROLL
    for (int c = 0; c < kColumns; ++c) nvcuda::wmma::fill_fragment(sums_[c], 0.0F);
  }

  ATTNSCOPE_DEVICE void add(int thread, const Half* q, const Half* k) {
    const Half* const rows = q + thread / 32 * 16 * kPitch;
    ATTNSCOPE_UNROLL
    for (int d = 0; d < kDepth; d += 16) {
      Rows a;
      nvcuda::wmma::load_matrix_sync(a, rows + d, kPitch);
      ATTNSCOPE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        Columns b;
        nvcuda::wmma::load_matrix_sync(b, k + 16 * c * kPitch + d, kPitch);
        nvcuda::wmma::mma_sync(sums_[c], a, b, sums_[c]);
      }
    }
  }

  ATTNSCOPE_DEVICE void store(int thread, float* scores) const {
    ATTNSCOPE_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      nvcuda::wmma::store_matrix_sync(scores + thread / 32 * 16 * kScorePitch + 16 * c, sums_[c],
                                      kScorePitch, nvcuda::wmma::mem_row_major);
    }
  }

 private:
  static constexpr int kColumns = 4;
  using Rows =
      nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, Half, nvcuda::wmma::row_major>;
  using Columns =
      nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, Half, nvcuda::wmma::col_major>;
  using Sums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
  Sums sums_[kColumns];
};

template <class Product>
__global__ void __launch_bounds__(kThreads, 4)
    lse_kernel(__grid_constant__ const StatisticsParams params) {
  extern __shared__ __align__(128) unsigned char shared[];
  DeviceBlock block;
  LsePass<DeviceBlock, Product>(block, params, shared).run();
}

template <class Product>
__global__ void __launch_bounds__(kThreads, 4)
    statistics_kernel(__grid_constant__ const StatisticsParams params) {
  extern __shared__ __align__(128) unsigned char shared[];
  DeviceBlock block;
  StatisticsPass<DeviceBlock, Product>(block, params, shared).run();
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(ErrorKind::output, "KE13",
              {.where = "CUDA",
               .what = what,
               .expected = "",
               .got = cudaGetErrorString(status),
               .next = "see whether `nvidia-smi` lists the device, or use --device cpu"});
}

int shared_bytes_of_a_block() {
  int device = 0, bytes = 0;
  check(cudaGetDevice(&device), "no device answers");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "the shared memory of a block");
  return bytes;
}

using Kernel = void (*)(StatisticsParams);

void launch(Kernel kernel, const StatisticsParams& params, cudaStream_t stream) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             params.shared.bytes),
        "the shared memory of a block");
  const dim3 grid(static_cast<unsigned>(params.query_tiles), static_cast<unsigned>(params.n_heads));
  kernel<<<grid, kThreads, static_cast<std::size_t>(params.shared.bytes), stream>>>(params);
  check(cudaGetLastError(), "the launch of attention statistics");
}

struct Kernels {
  Kernel lse;
  Kernel statistics;
};

template <class Product>
constexpr Kernels kernels() {
  return {lse_kernel<Product>, statistics_kernel<Product>};
}

Kernels kernels_of(CudaValue value) {
  switch (value) {
    case CudaValue::f16:
      return kernels<TensorCoreProduct<__half>>();
    case CudaValue::bf16:
      return kernels<TensorCoreProduct<__nv_bfloat16>>();
    case CudaValue::f32:
      break;
  }
  return kernels<ScalarProduct<Float32>>();
}

void clear(void* array, std::int64_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;
  check(cudaMemsetAsync(array, 0, static_cast<std::size_t>(bytes), stream),
        "the results of attention statistics");
}

}  // namespace
}  // namespace cuda

CudaLimits cuda_limits() {
  const int shared_bytes = cuda::shared_bytes_of_a_block();
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "the free memory of the device");
  return {shared_bytes, static_cast<std::int64_t>(free)};
}

bool cuda_passes_read(MemoryPlace place) {
  return place == MemoryPlace::device;
}

void launch_cuda_lse(const CudaStatisticsInput& input, float* lse, void* stream) {
  cuda::launch(cuda::kernels_of(input.value).lse, cuda::make_lse_params(input, lse),
               static_cast<cudaStream_t>(stream));
}

void launch_cuda_statistics(const CudaStatisticsInput& input, const CudaMaps& maps,
                            const CudaStatisticsOutput& output, void* stream) {
  const cuda::StatisticsParams params = cuda::make_params(input, maps, output);
  // The caller has allocated the results: what is left of the memory does not matter.
  const CudaLimits limits = {cuda::shared_bytes_of_a_block(), INT64_MAX};
  const CudaStatisticsBytes bytes = plan_cuda_statistics(input, maps, limits).bytes;
  const auto queue = static_cast<cudaStream_t>(stream);
  if (input.q_begin == 0) {
    cuda::clear(output.key_sum, bytes.key_sum, queue);
    cuda::clear(output.overview, bytes.overview, queue);
  }
  cuda::clear(maps.tiles, bytes.tiles, queue);
  cuda::launch(cuda::kernels_of(input.value).statistics, params, queue);
}

}  // namespace attnscope
