// File: inflate.h
// Reads zlib streams (RFC 1950, RFC 1951) of a known size: on byte planes with long runs, which
// zlib copies byte by byte, two to three times as fast as zlib. Takes any stream, also a hostile
// one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace attnscope::storage_detail {

// A prefix code as a table: short codes are looked up at once, long ones are followed bit by bit.
class DecodeTable {
 public:
  static constexpr int kTableBits = 11;
  static constexpr std::uint64_t kTableMask = (1U << kTableBits) - 1;
  static constexpr int kLongestCode = 15;
  static constexpr std::size_t kMaxSymbols = 288;

  struct Entry {
    std::uint16_t symbol = 0;
    std::uint8_t length = 0;  // 0: a longer code, or none
  };

  // Code lengths of the symbols, 0 = does not occur. False if they are no prefix code: too many
  // codes, or too few unless there is but one.
  bool build(std::span<const std::uint8_t> lengths);
  bool is_complete() const { return complete_; }  // every sequence of bits is a code
  // The symbol that the next bits (lowest first) stand for; length 0 if none.
  Entry find(std::uint64_t bits) const {
    const Entry entry = find_short(bits);
    return entry.length != 0 ? entry : find_long(bits);
  }
  Entry find_short(std::uint64_t bits) const { return table_[bits & kTableMask]; }

 private:
  Entry find_long(std::uint64_t bits) const;

  bool complete_ = false;
  std::array<Entry, 1U << kTableBits> table_;
  std::array<std::uint16_t, kLongestCode + 1> counts_{};  // codes of each length
  std::array<std::uint16_t, kMaxSymbols> symbols_{};      // in the order of their codes
};

// Holds the tables between calls.
class Inflater {
 public:
  // True if `stream` is one zlib stream of exactly out.size() bytes, whose checksum is right.
  bool inflate(std::span<const std::byte> stream, std::span<std::byte> out);

 private:
  class Reader;
  // Literals that the next bits begin with, one or two of them; 0 if something else comes.
  struct Literals {
    std::array<unsigned char, 2> bytes{};
    std::uint8_t count = 0;
    std::uint8_t length = 0;  // bits
  };
  bool set_codes(std::span<const std::uint8_t> literals, std::span<const std::uint8_t> distances);
  bool read_codes(Reader& in);
  bool read_block(Reader& in, std::span<unsigned char> out, std::size_t& done) const;

  DecodeTable literals_;
  DecodeTable distances_;
  std::array<Literals, 1U << DecodeTable::kTableBits> runs_;
};

// Adler-32 of the bytes, as at the end of a zlib stream.
std::uint32_t adler32_of(std::span<const std::byte> bytes);

}  // namespace attnscope::storage_detail
