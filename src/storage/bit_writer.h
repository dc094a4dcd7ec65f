// File: bit_writer.h
// Bits into bytes, lowest first (RFC 1951, section 3.1.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "huffman.h"

namespace attnscope::storage_detail {

// Writes where it is told, without a check: the room must hold eight bytes more than will be
// written.
class BitWriter {
 public:
  explicit BitWriter(std::byte* out) : out_(out) {}

  // At most 57 bits may be put between two flushes.
  void put(std::uint64_t bits, unsigned count) {
    pending_ |= bits << count_;
    count_ += count;
  }
  void put(Code code) { put(code.bits, code.length); }
  void flush() {
    std::memcpy(out_, &pending_, sizeof pending_);
    out_ += count_ / 8;
    pending_ >>= count_ & ~7U;
    count_ &= 7U;
  }
  // Fills the byte at hand with zeros.
  void align() {
    count_ = (count_ + 7) & ~7U;
    flush();
  }
  // Only after align().
  void copy(std::span<const unsigned char> bytes) {
    if (bytes.empty()) return;  // memcpy takes no null pointer
    std::memcpy(out_, bytes.data(), bytes.size());
    out_ += bytes.size();
  }
  std::byte* end() const { return out_; }  // after align()

 private:
  std::byte* out_;
  std::uint64_t pending_ = 0;
  unsigned count_ = 0;  // bits in pending_
};

}  // namespace attnscope::storage_detail
