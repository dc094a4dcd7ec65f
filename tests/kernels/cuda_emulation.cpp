#include "cuda_emulation.h"

#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cuda_lse_body.h"
#include "cuda_scalar_product.h"

namespace attnscope::testing {
namespace {

constexpr int kThreads = cuda::kThreads;

// A block's threads as contexts of one thread: each runs until it waits, then the next one.
class Turns {
 public:
  explicit Turns(Schedule schedule) : schedule_(schedule), contexts_(kThreads), stacks_(kThreads) {}

  void run(const std::function<void(int)>& work) {
    work_ = &work;
    n_running_ = kThreads;
    for (int t = 0; t < kThreads; ++t) prepare(t);
    while (n_running_ > 0) {
      for (int rank = 0; rank < kThreads; ++rank) {
        const int t = schedule_ == Schedule::ascending ? rank : kThreads - 1 - rank;
        swapcontext(&scheduler_, &context(t));
      }
    }
  }

  void wait(int thread) { swapcontext(&context(thread), &scheduler_); }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{1} << 16;

  ucontext_t& context(int thread) { return contexts_[static_cast<std::size_t>(thread)]; }

  void prepare(int thread) {
    std::unique_ptr<char[]>& stack = stacks_[static_cast<std::size_t>(thread)];
    if (stack == nullptr) stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    getcontext(&context(thread));
    context(thread).uc_stack.ss_sp = stack.get();
    context(thread).uc_stack.ss_size = kStackBytes;
    context(thread).uc_link = &scheduler_;
    // makecontext hands over integers only.
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context(thread), reinterpret_cast<void (*)()>(&Turns::begin), 3,
                static_cast<unsigned>(self >> 32U), static_cast<unsigned>(self), thread);
  }

  static void begin(unsigned high, unsigned low, int thread) {
    auto* const self = reinterpret_cast<Turns*>(static_cast<std::uintptr_t>(high) << 32U | low);
    (*self->work_)(thread);
    --self->n_running_;
  }

  Schedule schedule_;
  ucontext_t scheduler_ = {};
  std::vector<ucontext_t> contexts_;
  std::vector<std::unique_ptr<char[]>> stacks_;
  const std::function<void(int)>* work_ = nullptr;
  int n_running_ = 0;
};

// How the threads of a block run and wait for each other.
class Meeting {
 public:
  explicit Meeting(Schedule schedule) : schedule_(schedule), barrier_(kThreads), turns_(schedule) {}

  void run(const std::function<void(int)>& work) {
    if (schedule_ != Schedule::together) return turns_.run(work);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  }

  void sync(int thread) {
    if (schedule_ != Schedule::together) return turns_.wait(thread);
    barrier_.arrive_and_wait();
  }

 private:
  Schedule schedule_;
  std::barrier<> barrier_;
  Turns turns_;
};

template <class Integer>
void raise(Integer* place, Integer value) {
  std::atomic_ref<Integer> shared(*place);
  Integer seen = shared.load(std::memory_order_relaxed);
  while (seen < value && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

class HostBlock {
 public:
  HostBlock(int thread, Meeting& meeting, const Emulation& emulation)
      : thread_(thread), meeting_(meeting), emulation_(emulation) {}

  void place_at(int head, int query_tile) {
    head_ = head;
    query_tile_ = query_tile;
  }

  int thread() const { return thread_; }
  int head() const { return head_; }
  int query_tile() const { return query_tile_; }
  void sync(cuda::Sync site) {
    if (emulation_.left_out != site) meeting_.sync(thread_);
  }

  static float exp(float x) { return std::exp(x); }
  static float log(float x) { return std::log(x); }
  static float tanh(float x) { return std::tanh(x); }

  void copy16(void* shared, const void* global) {
    if (emulation_.copies == CopyTime::ordered) {
      std::memcpy(shared, global, 16);
    } else {
      copies_.push_back({shared, global});
    }
  }
  void wait_for_copies() {
    for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, 16);
    copies_.clear();
  }

  void add(std::uint64_t* global, std::uint64_t value) {
    std::atomic_ref(*global).fetch_add(value, std::memory_order_relaxed);
  }
  void set_bits(std::uint64_t* global, std::uint64_t bits) {
    std::atomic_ref(*global).fetch_or(bits, std::memory_order_relaxed);
  }
  void raise(std::uint32_t* global, std::uint32_t value) { testing::raise(global, value); }
  void raise_shared(std::uint32_t* shared, std::uint32_t value) { testing::raise(shared, value); }

 private:
  struct Copy {
    void* to;
    const void* from;
  };

  int thread_;
  int head_ = 0, query_tile_ = 0;
  Meeting& meeting_;
  const Emulation& emulation_;
  std::vector<Copy> copies_;
};

template <float (*kValue)(std::uint16_t)>
struct SixteenBits {
  using Stored = std::uint16_t;
  static cuda::Four load(const std::uint16_t* bits) {
    return {{kValue(bits[0]), kValue(bits[1]), kValue(bits[2]), kValue(bits[3])}};
  }
};

// All blocks one after the other, each with all of its threads.
template <template <class, class> class Pass, class Value>
void run_blocks(const cuda::StatisticsParams& params, const Emulation& emulation) {
  // Shared memory begins as bits that are a NaN of each type and no index.
  struct alignas(128) Line {
    unsigned char bytes[128];
  };
  Line nothing;
  for (int i = 0; i < 128; i += 2) {
    nothing.bytes[i] = 0xc0;
    nothing.bytes[i + 1] = 0x7f;
  }
  std::vector<Line> shared(static_cast<std::size_t>(cuda::pieces(params.shared.bytes, 128)));
  const int tiles = params.query_tiles;
  const int n_blocks = tiles * params.n_heads;
  Meeting meeting(emulation.schedule);

  const auto work = [&](int thread) {
    HostBlock block(thread, meeting, emulation);
    for (int b = 0; b < n_blocks; ++b) {
      if (thread == 0) std::fill(shared.begin(), shared.end(), nothing);
      meeting.sync(thread);
      const int place = emulation.blocks == BlockOrder::forward ? b : n_blocks - 1 - b;
      block.place_at(place / tiles, place % tiles);
      Pass<HostBlock, cuda::ScalarProduct<Value>>(block, params, shared.data()->bytes).run();
      meeting.sync(thread);
    }
  };
  meeting.run(work);
}

template <template <class, class> class Pass>
void run_pass(const cuda::StatisticsParams& params, CudaValue value, const Emulation& emulation) {
  switch (value) {
    case CudaValue::f32:
      return run_blocks<Pass, cuda::Float32>(params, emulation);
    case CudaValue::f16:
      return run_blocks<Pass, SixteenBits<half_value>>(params, emulation);
    case CudaValue::bf16:
      return run_blocks<Pass, SixteenBits<bfloat_value>>(params, emulation);
  }
}

}  // namespace

float half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                   : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

float bfloat_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

void emulate_lse(const cuda::StatisticsParams& params, CudaValue value,
                 const Emulation& emulation) {
  run_pass<cuda::LsePass>(params, value, emulation);
}

void emulate(const cuda::StatisticsParams& params, CudaValue value, const Emulation& emulation) {
  run_pass<cuda::StatisticsPass>(params, value, emulation);
}

}  // namespace attnscope::testing
