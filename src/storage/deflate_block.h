// File: deflate_block.h
// The code of one dynamic deflate block: what its header says (RFC 1951, section 3.2.7).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bit_writer.h"
#include "huffman.h"

namespace attnscope::storage_detail {

inline constexpr std::size_t kEndOfBlock = 256;    // literals are 0…255
inline constexpr std::size_t kBlockSymbols = 286;  // and 29 match lengths follow
inline constexpr std::uint32_t kLongestMatch = 258;

// Four codes and what is left of a byte fit into 64 bits, so that literals go out four at a time.
inline constexpr int kLongestCode = 14;

// A match length as deflate writes it (RFC 1951, section 3.2.5).
struct MatchLength {
  std::uint16_t symbol = 0;
  std::uint8_t extra_bits = 0;
  std::uint8_t extra = 0;
};
MatchLength match_length(std::uint32_t length);  // 3…258

class BlockCode {
 public:
  // `counts`: how often each symbol occurs, the end of the block among them. The only distance
  // is 1.
  explicit BlockCode(std::span<const std::uint32_t, kBlockSymbols> counts);

  Code operator[](std::size_t symbol) const { return codes_[symbol]; }
  const Code* literals() const { return codes_.data(); }
  // Of the header and of all symbols, without extra bits and distances.
  std::uint64_t bits() const { return bits_; }
  void write_header(bool last, BitWriter& out) const;

 private:
  // An entry of the header's list of code lengths, which is itself run-length and Huffman coded.
  struct Item {
    std::uint8_t symbol, extra_bits, extra;
  };
  static constexpr std::size_t kItemSymbols = 19;

  void add_item(std::uint8_t symbol, std::uint8_t extra_bits = 0, std::size_t extra = 0);
  void add_items(std::span<const std::uint8_t> lengths);

  std::array<Code, kBlockSymbols> codes_{};
  std::size_t used_symbols_ = kBlockSymbols;  // up to the last that occurs
  std::array<Item, kBlockSymbols + 1> items_{};
  std::size_t n_items_ = 0;
  std::array<Code, kItemSymbols> item_codes_{};
  std::size_t used_item_codes_ = kItemSymbols;
  std::uint64_t bits_ = 0;
};

}  // namespace attnscope::storage_detail
