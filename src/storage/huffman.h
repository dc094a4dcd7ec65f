// File: huffman.h
// Prefix codes of bounded length, as deflate stores them (RFC 1951, section 3.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attnscope::storage_detail {

// One symbol's code: its bits in the order in which deflate writes them, lowest first.
struct Code {
  std::uint16_t bits = 0;
  std::uint16_t length = 0;  // 0: the symbol does not occur
};

// Code lengths for symbols that occur `counts[s]` times, none above `limit` bits; 0 where the count
// is 0. At least two symbols must occur. Optimal for the counts wherever the optimal code keeps the
// limit; else for counts that are flattened until it does.
void huffman_lengths(std::span<const std::uint32_t> counts, int limit,
                     std::span<std::uint8_t> lengths);

// The canonical code of these lengths.
void canonical_codes(std::span<const std::uint8_t> lengths, std::span<Code> codes);

}  // namespace attnscope::storage_detail
