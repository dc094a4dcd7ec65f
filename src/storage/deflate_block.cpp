#include "deflate_block.h"

#include <algorithm>

namespace attnscope::storage_detail {
namespace {

// The order in which a header lists the lengths of its item codes: those likely to be 0 come last.
constexpr std::array<std::uint8_t, 19> kItemOrder{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};
constexpr int kLongestItemCode = 7;

constexpr std::array<MatchLength, kLongestMatch + 1> match_lengths() {
  std::array<MatchLength, kLongestMatch + 1> table{};
  std::uint32_t length = 3;
  for (std::uint16_t symbol = 257; symbol < 285; ++symbol) {
    const auto extra_bits = static_cast<std::uint8_t>(symbol < 265 ? 0 : (symbol - 261) / 4);
    for (std::uint32_t extra = 0; extra < 1U << extra_bits; ++extra) {
      table[length++] = {symbol, extra_bits, static_cast<std::uint8_t>(extra)};
    }
  }
  table[kLongestMatch] = {285, 0, 0};
  return table;
}
constexpr auto kMatchLengths = match_lengths();

}  // namespace

MatchLength match_length(std::uint32_t length) {
  return kMatchLengths[length];
}

BlockCode::BlockCode(std::span<const std::uint32_t, kBlockSymbols> counts) {
  std::array<std::uint8_t, kBlockSymbols + 1> lengths{};
  const auto symbols = std::span(lengths).first<kBlockSymbols>();
  huffman_lengths(counts, kLongestCode, symbols);
  canonical_codes(symbols, codes_);
  while (lengths[used_symbols_ - 1] == 0) --used_symbols_;
  for (std::size_t s = 0; s < used_symbols_; ++s) bits_ += std::uint64_t{counts[s]} * lengths[s];

  lengths[used_symbols_] = 1;  // the one distance code follows the others in the same list
  add_items(std::span(lengths).first(used_symbols_ + 1));
  std::array<std::uint32_t, kItemSymbols> item_counts{};
  for (std::size_t i = 0; i < n_items_; ++i) ++item_counts[items_[i].symbol];
  std::array<std::uint8_t, kItemSymbols> item_lengths{};
  huffman_lengths(item_counts, kLongestItemCode, item_lengths);
  canonical_codes(item_lengths, item_codes_);
  while (item_lengths[kItemOrder[used_item_codes_ - 1]] == 0) --used_item_codes_;

  bits_ += 3 + 14 + 3 * used_item_codes_;
  for (std::size_t i = 0; i < n_items_; ++i) {
    bits_ += item_codes_[items_[i].symbol].length + std::uint64_t{items_[i].extra_bits};
  }
}

void BlockCode::add_item(std::uint8_t symbol, std::uint8_t extra_bits, std::size_t extra) {
  items_[n_items_++] = {symbol, extra_bits, static_cast<std::uint8_t>(extra)};
}

void BlockCode::add_items(std::span<const std::uint8_t> lengths) {
  for (std::size_t at = 0; at < lengths.size();) {
    const std::uint8_t value = lengths[at];
    std::size_t run = 1;
    while (at + run < lengths.size() && lengths[at + run] == value) ++run;
    at += run;
    if (value != 0) {  // "the same again" needs one to repeat
      add_item(value);
      --run;
    }
    while (run >= 3) {
      const std::size_t taken = std::min<std::size_t>(run, value != 0 ? 6 : 138);
      if (value != 0) {
        add_item(16, 2, taken - 3);
      } else if (taken <= 10) {
        add_item(17, 3, taken - 3);
      } else {
        add_item(18, 7, taken - 11);
      }
      run -= taken;
    }
    for (; run > 0; --run) add_item(value);
  }
}

void BlockCode::write_header(bool last, BitWriter& out) const {
  constexpr unsigned kDynamic = 2;
  out.put(last ? 1 : 0, 1);
  out.put(kDynamic, 2);
  out.put(used_symbols_ - 257, 5);
  out.put(0, 5);  // one distance code
  out.put(used_item_codes_ - 4, 4);
  out.flush();
  for (std::size_t i = 0; i < used_item_codes_; ++i) {
    out.put(item_codes_[kItemOrder[i]].length, 3);
    out.flush();
  }
  for (std::size_t i = 0; i < n_items_; ++i) {
    out.put(item_codes_[items_[i].symbol]);
    out.put(items_[i].extra, items_[i].extra_bits);
    out.flush();
  }
}

}  // namespace attnscope::storage_detail
