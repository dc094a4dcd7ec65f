// File: philox.h
// Philox4x32-10, a counter-based random generator (Salmon et al. 2011, "Parallel Random Numbers:
// As Easy as 1, 2, 3"). The same (seed, stream, index) gives the same number on every machine,
// whatever order the numbers are asked in.
#pragma once

#include <array>
#include <cstdint>

namespace attnscope {

// One block of four numbers.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

class Philox {
 public:
  Philox(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  std::uint32_t next();
  // Uniform in [0, n), without bias; n > 0.
  std::uint32_t below(std::uint32_t n);
  // Uniform in [0, 1) with 53 bits.
  double uniform();

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> buffer_{};
  unsigned used_ = 4;
};

}  // namespace attnscope
