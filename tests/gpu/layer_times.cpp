#include "layer_times.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/kernels/tiled_attention.h"
#include "matrix_product.h"

namespace attnscope {
namespace {

constexpr int kWarmUps = 2;
constexpr int kMostRuns = 15;
constexpr double kEnoughMs = 300;
constexpr int kTopK = 8;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "device_times: %s\n", cudaGetErrorString(status));
  std::exit(3);
}

class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() { check(cudaEventRecord(event_, nullptr)); }
  double milliseconds_since(const Event& begin) const {
    check(cudaEventSynchronize(event_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.event_, event_));
    return static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

c10::CachingDeviceAllocator::DeviceStats memory() {
  return c10::getDeviceAllocator(c10::DeviceType::CUDA)->getDeviceStats(0);
}

constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

// q, k and v of one layer [1 n h d], and what the statistics pass writes.
class DeviceLayer {
 public:
  explicit DeviceLayer(const LayerShape& shape) : shape_(shape) {
    at::manual_seed(static_cast<std::uint64_t>(shape.n));
    const auto options = at::TensorOptions(shape.type).device(at::kCUDA);
    for (at::Tensor* tensor : {&q_, &k_, &v_}) {
      *tensor = at::randn({1, shape.n, shape.n_heads, shape.d_head}, options);
    }
    lse_ = at::empty({shape.n_heads, shape.n}, at::TensorOptions(at::kFloat).device(at::kCUDA));
    const at::Tensor position = at::arange(shape.n, at::TensorOptions(at::kInt).device(at::kCUDA));
    previous_ = at::where(position < kRepeat, at::full_like(position, -1), position - kRepeat);
    slots_ = at::full({shape.n_heads}, -1, position.options());
    slots_[0].fill_(0);
    spec_.n_heads = spec_.n_kv_heads = shape.n_heads;
    spec_.d_head = shape.d_head;
    spec_.scale = 1 / std::sqrt(double{1} * shape.d_head);
    fill_input();
  }

  void fused() const {
    at::scaled_dot_product_attention(q_.transpose(1, 2), k_.transpose(1, 2), v_.transpose(1, 2),
                                     std::nullopt, 0, /*is_causal=*/true);
  }

  // Allocates what the pass writes and gives its size.
  std::int64_t make_outputs(int n_maps) {
    maps_ = {};
    maps_.n_maps = n_maps;
    if (n_maps > 0) maps_.slot = slots_.const_data_ptr<std::int32_t>();
    const CudaStatisticsBytes bytes = plan_cuda_statistics(input_, maps_, cuda_limits()).bytes;
    buffers_.clear();
    output_ = {static_cast<float*>(buffer(bytes.rows)),
               static_cast<float*>(buffer(bytes.topk_value)),
               static_cast<std::int32_t*>(buffer(bytes.topk_index)),
               static_cast<std::uint64_t*>(buffer(bytes.key_sum)),
               static_cast<std::uint32_t*>(buffer(bytes.overview))};
    if (n_maps > 0) maps_.tiles = buffer(bytes.tiles);
    return bytes.total;
  }

  // Both passes.
  void statistics() const {
    launch_cuda_lse(input_, lse_.mutable_data_ptr<float>(), nullptr);
    launch_cuda_statistics(input_, maps_, output_, nullptr);
  }

 private:
  static constexpr int kRepeat = 500;  // a token is that many positions after its last occurrence

  void fill_input() {
    input_.spec = &spec_;
    input_.value = shape_.type == at::kFloat ? CudaValue::f32 : CudaValue::bf16;
    input_.n_queries = input_.n_keys = shape_.n;
    const std::int64_t row = std::int64_t{shape_.n_heads} * shape_.d_head;
    input_.q = {q_.const_data_ptr(), row, shape_.d_head};
    input_.k = {k_.const_data_ptr(), row, shape_.d_head};
    input_.lse = lse_.const_data_ptr<float>();
    input_.lse_stride = shape_.n;
    input_.previous_same = previous_.const_data_ptr<std::int32_t>();
    input_.top_k = kTopK;
  }

  void* buffer(std::int64_t bytes) {
    buffers_.push_back(
        at::empty({std::max<std::int64_t>(bytes, 16)}, q_.options().dtype(at::kByte)));
    return buffers_.back().mutable_data_ptr();
  }

  LayerShape shape_;
  AttentionSpec spec_;
  at::Tensor q_, k_, v_;  // [1 n h d]
  at::Tensor lse_;        // [h n]
  at::Tensor previous_;   // [n]
  at::Tensor slots_;      // [h]
  CudaStatisticsInput input_;
  CudaMaps maps_;
  CudaStatisticsOutput output_;
  std::vector<at::Tensor> buffers_;
};

// Tiles with every statistic on all cores, heads side by side.
double cpu_milliseconds(const LayerShape& shape) {
  AttentionSpec spec;
  spec.n_heads = spec.n_kv_heads = shape.n_heads;
  spec.d_head = shape.d_head;
  spec.scale = 1 / std::sqrt(double{1} * shape.d_head);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(shape.n));
  for (int i = 0; i < shape.n; ++i) ids[static_cast<std::size_t>(i)] = i % 500;
  const at::Tensor q = at::randn({shape.n, shape.n_heads, shape.d_head});
  const at::Tensor k = at::randn({shape.n, shape.n_heads, shape.d_head});
  const at::Tensor v = at::randn({shape.n, shape.n_heads, shape.d_head});
  at::Tensor z = at::empty_like(q);
  at::Tensor lse = at::empty({shape.n_heads, shape.n});
  StatisticsAccumulator statistics({.n_heads = shape.n_heads,
                                    .n_queries = shape.n,
                                    .n_keys = shape.n,
                                    .top_k = kTopK,
                                    .ids = ids});
  const std::int64_t row = std::int64_t{shape.n_heads} * shape.d_head;
  TiledAttentionInput<float> input;
  input.spec = &spec;
  input.n_queries = input.n_keys = shape.n;
  input.q = {q.const_data_ptr<float>(), row, shape.d_head};
  input.k = {k.const_data_ptr<float>(), row, shape.d_head};
  input.v = {v.const_data_ptr<float>(), row, shape.d_head};
  input.product = &multiply<float>;
  TiledAttentionOutput<float> output;
  output.z = {z.data_ptr<float>(), row, shape.d_head};
  output.lse = lse.data_ptr<float>();
  output.statistics = &statistics;
  TiledAttention<float> attention(input, output);
  const auto begin = std::chrono::steady_clock::now();
  at::parallel_for(0, shape.n_heads, 1, [&](std::int64_t first, std::int64_t last) {
    TiledScratch<float> scratch;
    for (std::int64_t head = first; head < last; ++head) {
      attention.prepare(static_cast<int>(head));
      attention.compute({.head = static_cast<int>(head), .q_begin = 0, .q_end = shape.n}, scratch);
    }
  });
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace

double device_milliseconds(const std::function<void()>& work) {
  for (int run = 0; run < kWarmUps; ++run) work();
  std::vector<double> times;
  double total = 0;
  Event begin, end;
  while (times.size() < 3 || (times.size() < kMostRuns && total < kEnoughMs)) {
    begin.record();
    work();
    end.record();
    times.push_back(end.milliseconds_since(begin));
    total += times.back();
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::int64_t take_peak_bytes() {
  const std::int64_t peak = memory().allocated_bytes[kAll].peak;
  c10::getDeviceAllocator(c10::DeviceType::CUDA)->resetPeakStats(0);
  return peak;
}

std::int64_t bytes_in_use() {
  return memory().allocated_bytes[kAll].current;
}

double causal_elements(const LayerShape& shape) {
  return 0.5 * shape.n_heads * static_cast<double>(shape.n) * (shape.n + 1.0);
}

LayerTimes time_layer(const LayerShape& shape, CpuBeside cpu) {
  DeviceLayer layer(shape);
  LayerTimes times;
  take_peak_bytes();
  const std::int64_t before = bytes_in_use();
  times.fused_ms = device_milliseconds([&] { layer.fused(); });
  times.fused_peak_bytes = take_peak_bytes() - before;
  times.statistics_bytes = layer.make_outputs(0);
  times.statistics_ms = device_milliseconds([&] { layer.statistics(); });
  layer.make_outputs(1);
  times.maps_ms = device_milliseconds([&] { layer.statistics(); });
  if (cpu == CpuBeside::on) times.cpu_ms = cpu_milliseconds(shape);
  return times;
}

}  // namespace attnscope
