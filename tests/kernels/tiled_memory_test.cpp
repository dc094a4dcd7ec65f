// How much memory attention in tiles takes beyond its inputs and outputs. Every allocation of this
// test program is counted.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "attnscope/kernels/tiled_attention.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATTNSCOPE_COUNTS_MEMORY 0
#else
#define ATTNSCOPE_COUNTS_MEMORY 1
#endif

namespace {

std::atomic<std::int64_t> heap_now{0};
std::atomic<std::int64_t> heap_peak{0};

#if ATTNSCOPE_COUNTS_MEMORY
void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const auto size = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t now = heap_now.fetch_add(size) + size;
  std::int64_t peak = heap_peak.load();
  while (now > peak && !heap_peak.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void release(void* memory) {
  if (memory == nullptr) return;
  heap_now -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

std::size_t rounded(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return (size + unit - 1) / unit * unit;
}
#endif

}  // namespace

#if ATTNSCOPE_COUNTS_MEMORY
void* operator new(std::size_t size) {
  return counted(std::malloc(std::max<std::size_t>(size, 1)));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(std::aligned_alloc(static_cast<std::size_t>(alignment),
                                    rounded(std::max<std::size_t>(size, 1), alignment)));
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
#endif

namespace attnscope::testing {
namespace {

// Memory does not depend on what the scores are.
void zero_product(const MatrixTask<float>& task) {
  for (std::int64_t i = 0; i < task.m; ++i) std::fill_n(task.c + i * task.ldc, task.n, 0.0F);
}

template <typename V>
std::int64_t bytes(const V& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(values[0]));
}

TEST(TiledMemory, OfAllStatisticsOf4096TokensIsBelow16Megabytes) {
  if (!ATTNSCOPE_COUNTS_MEMORY) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  constexpr int kTokens = 4096, kHeads = 12, kSize = 64;
  constexpr std::int64_t kWidth = kHeads * kSize;
  const std::vector<float> q(kTokens * kWidth, 0.5F);
  std::vector<float> z(q.size()), lse(kHeads * kTokens);
  const std::vector<float> norms(kTokens, 1.0F);
  std::vector<std::int64_t> ids(kTokens);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i % 1000);
  AttentionSpec spec;
  spec.n_heads = spec.n_kv_heads = kHeads;
  spec.d_head = kSize;
  spec.scale = 0.125;

  const std::int64_t before = heap_now;
  heap_peak = before;
  StatisticsAccumulator accumulator(
      {.n_heads = kHeads, .n_queries = kTokens, .n_keys = kTokens, .ids = ids});
  TiledAttentionInput<float> input;
  input.spec = &spec;
  input.n_queries = input.n_keys = kTokens;
  input.q = input.k = input.v = {q.data(), kWidth, kSize};
  input.product = zero_product;
  TiledAttentionOutput<float> output;
  output.z = {z.data(), kWidth, kSize};
  output.lse = lse.data();
  output.statistics = &accumulator;
  TiledAttention<float> attention(input, output);
  TiledScratch<float> scratch;
  for (int h = 0; h < kHeads; ++h) {
    attention.prepare(h);
    TiledPart<float> part;
    part.head = h;
    part.q_end = kTokens;
    attention.compute(part, scratch);
    accumulator.set_value_norm(h, norms.data());
  }
  const AttentionStatistics statistics = accumulator.finish();
  const std::int64_t results = bytes(statistics.head_stats) + bytes(statistics.row_stats) +
                               bytes(statistics.topk_index) + bytes(statistics.topk_value) +
                               bytes(statistics.key_sum) + bytes(statistics.value_norm) +
                               bytes(statistics.overview);
  const std::int64_t own = heap_peak - before - results;
  RecordProperty("bytes", std::to_string(own));
  EXPECT_LE(own, 16'000'000);
  EXPECT_GT(own, 4 * q.size());  // the transposed keys are seen
}

}  // namespace
}  // namespace attnscope::testing
