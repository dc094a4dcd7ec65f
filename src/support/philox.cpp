#include "attnscope/support/philox.h"

namespace attnscope {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * c[0];
    const std::uint64_t p1 = 0xCD9E8D57ull * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c;
}

std::uint32_t Philox::next() {
  if (used_ == 4) {
    const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
    const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
    buffer_ = philox4x32({low(block_), high(block_), low(stream_), high(stream_)},
                         {low(seed_), high(seed_)});
    ++block_;
    used_ = 0;
  }
  return buffer_[used_++];
}

std::uint32_t Philox::below(std::uint32_t n) {
  // Rejects the last, incomplete stretch of the range.
  const std::uint32_t reject = (0u - n) % n;
  while (true) {
    const std::uint32_t x = next();
    if (x >= reject) return x % n;
  }
}

double Philox::uniform() {
  const std::uint64_t high = next();
  const std::uint64_t low = next();
  return static_cast<double>(((high << 32) | low) >> 11) * 0x1.0p-53;
}

}  // namespace attnscope
