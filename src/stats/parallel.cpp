#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace attnscope {

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  const std::size_t helpers =
      std::min(count, static_cast<std::size_t>(std::max(1, threads))) - (count > 0 ? 1 : 0);
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> pool;
    for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

Philox random_of(std::uint64_t seed, RandomUse use, std::uint64_t stream, std::uint64_t draw) {
  return Philox(seed, static_cast<std::uint64_t>(use) << 56 | (stream & 0xffff) << 40 | draw);
}

}  // namespace attnscope
