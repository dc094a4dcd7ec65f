// Work split over threads, and the random streams that make it independent of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "attnscope/support/philox.h"

namespace attnscope {

// Calls work(0) … work(count − 1), each once, from up to `threads` threads.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

// What random numbers are for; each use has streams of its own.
enum class RandomUse : std::uint64_t { bootstrap = 1, sign_flip, permutation, matching, split };

// The generator of draw `draw`: the same whoever computes it.
Philox random_of(std::uint64_t seed, RandomUse use, std::uint64_t stream, std::uint64_t draw);

}  // namespace attnscope
