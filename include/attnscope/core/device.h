// File: device.h
// Which device a run uses, and how many threads.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>
#include <string_view>

#include "attnscope/support/free_memory.h"

namespace attnscope {

// "auto" (the first GPU, or the CPU where there is none), "cpu", "cuda", "cuda:1". Asking for a
// GPU that is not there is an error (exit 3), never a silent fall back to the CPU.
c10::Device parse_device(std::string_view text);

// What is free on a GPU now; nothing for the CPU, see support/free_memory.h.
std::optional<FreeMemory> free_device_memory(c10::Device device);

// "2 CUDA GPUs", or "none: " and why: a LibTorch without CUDA, or no GPU found.
std::string describe_gpus();

struct ProcessOptions {
  int threads = 0;  // compute threads; 0 = one a core
};

// Sets up the process for runs: thread count, and an allocator that keeps freed activations for
// the next layer instead of giving them back. Call once, before the first run and before other
// threads start. Throws (exit 4) if that many threads cannot be started.
void set_up_process(const ProcessOptions& options);

// While it lives, LibTorch computes with one thread in this one. Work that runs on threads of its
// own is faster so, equal rows of a batch get equal bits, and results depend on no thread count.
class OneComputeThread {
 public:
  OneComputeThread();
  ~OneComputeThread();
  OneComputeThread(const OneComputeThread&) = delete;
  OneComputeThread& operator=(const OneComputeThread&) = delete;

 private:
  int before_;
};

}  // namespace attnscope
