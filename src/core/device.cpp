#include "attnscope/core/device.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <malloc.h>

#include <latch>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";

int visible_gpus() {
  return at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
}

// A CUDA build says that it has CUDA only where a GPU answers; what it is linked with is known
// anywhere.
bool is_cuda_build() {
  return at::globalContext().hasCUDART();
}

constexpr const char* kNoCuda = "this LibTorch was built without CUDA";
constexpr const char* kNoGpu = "no GPU was found, though this LibTorch was built with CUDA";

[[noreturn]] void fail_no_gpu(std::string_view text, const std::string& why,
                              const std::string& next) {
  throw Error(ErrorKind::output, "CO10",
              {.where = "--device " + escape_untrusted(text),
               .what = why,
               .next = "use --device cpu, or " + next});
}

c10::Device gpu(std::string_view text, std::int64_t index) {
  const int count = visible_gpus();
  if (count == 0 && !is_cuda_build()) {
    fail_no_gpu(text, kNoCuda, "build attnscope with a CUDA LibTorch");
  }
  if (count == 0) fail_no_gpu(text, kNoGpu, "see whether `nvidia-smi` lists one");
  if (index >= count) {
    fail_no_gpu(text, "there is no GPU " + std::to_string(index),
                "one of cuda:0 to cuda:" + std::to_string(count - 1));
  }
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

// Whether `count` more threads can be started.
void require_threads(int count) {
  std::vector<std::thread> threads;
  std::latch all_tried(1);
  std::string failure;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([&all_tried] { all_tried.wait(); });
  } catch (const std::system_error& error) {
    failure = error.code().message();
  }
  all_tried.count_down();
  for (std::thread& thread : threads) thread.join();
  if (failure.empty()) return;
  throw Error(ErrorKind::limit, "CO12",
              {.where = "--threads",
               .what = "cannot start the compute threads: " + failure,
               .next = "use fewer --threads, or allow more memory or processes (ulimit -a)"});
}

// LibTorch's two thread pools end or crash the process when they cannot start a thread. So as many
// are started first, whose stacks they then get, and the pools right after.
void start_compute_threads(int count) {
  require_threads(2 * (count - 1));
  at::set_num_threads(count);
  constexpr std::int64_t kValuesPerThread = 1 << 16;  // twice what ATen gives a thread at least
  at::zeros({count * kValuesPerThread}).add_(1);
}

}  // namespace

c10::Device parse_device(std::string_view text) {
  if (text == "cpu") return {c10::DeviceType::CPU};
  if (text == "auto") return visible_gpus() > 0 ? gpu(text, 0) : c10::Device(c10::kCPU);
  if (text == "cuda") return gpu(text, 0);
  if (text.starts_with(kCudaPrefix)) {
    const std::optional<std::int64_t> index = parse_integer(text.substr(kCudaPrefix.size()));
    if (index && *index >= 0) return gpu(text, *index);
  }
  throw Error(ErrorKind::input, "CO11",
              {.where = "--device",
               .what = "unknown device " + quote(text),
               .expected = "auto, cpu, cuda or cuda:N"});
}

std::optional<FreeMemory> free_device_memory(c10::Device device) {
  if (device.is_cpu()) return std::nullopt;
  const auto [free, total] = c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index());
  return FreeMemory{free, "of " + format_bytes(total) + " of " + device.str()};
}

std::string describe_gpus() {
  const int count = visible_gpus();
  if (count > 0) return count_of(static_cast<std::uint64_t>(count), "CUDA GPU");
  return std::string("none: ") + (is_cuda_build() ? kNoGpu : kNoCuda);
}

void set_up_process(const ProcessOptions& options) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  // An activation is a few MiB, above the size from which glibc takes fresh pages from the kernel
  // for each allocation; clearing those again in every layer costs more than some of the layer's
  // arithmetic.
  constexpr int kLargestReused = 32 << 20;  // the most that glibc takes here
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLargestReused);
  mallopt(M_TRIM_THRESHOLD, kKept);
  // Products of float32 on a GPU are not rounded to 10 bits.
  at::globalContext().setFloat32MatmulPrecision("highest");
  at::globalContext().setAllowTF32CuDNN(false);
  start_compute_threads(options.threads > 0 ? options.threads : std::max(cores, 1));
}

OneComputeThread::OneComputeThread() : before_(at::get_num_threads()) {
  at::set_num_threads(1);
}

OneComputeThread::~OneComputeThread() {
  at::set_num_threads(before_);
}

}  // namespace attnscope
