#include "huffman.h"

#include <algorithm>
#include <array>

namespace attnscope::storage_detail {
namespace {

constexpr int kMaxBits = 15;
constexpr std::size_t kMaxSymbols = 286;

struct Leaf {
  std::uint32_t count;
  std::uint16_t symbol;
};

// Lengths of an unbounded Huffman code over `leaves`, sorted by count: two queues, one of leaves
// and one of the inner nodes, which come out in order by themselves (van Leeuwen 1976). Returns the
// largest.
int unbounded_lengths(std::span<const Leaf> leaves, std::span<std::uint8_t> lengths) {
  const std::size_t n = leaves.size();
  std::array<std::uint32_t, kMaxSymbols> weight;      // of inner node i
  std::array<std::uint16_t, 2 * kMaxSymbols> parent;  // leaves 0…n−1, then inner nodes
  std::size_t leaf = 0;
  std::size_t inner = 0;
  for (std::size_t made = 0; made + 1 < n; ++made) {
    std::uint32_t sum = 0;
    for (int child = 0; child < 2; ++child) {
      const bool take_leaf = leaf < n && (inner == made || leaves[leaf].count <= weight[inner]);
      sum += take_leaf ? leaves[leaf].count : weight[inner];
      parent[take_leaf ? leaf++ : n + inner++] = static_cast<std::uint16_t>(made);
    }
    weight[made] = sum;
  }
  std::array<std::uint8_t, kMaxSymbols> depth;  // of inner node i; the last is the root
  depth[n - 2] = 0;
  for (std::size_t i = n - 2; i-- > 0;) {
    depth[i] = static_cast<std::uint8_t>(depth[parent[n + i]] + 1);
  }
  int longest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const int length = depth[parent[i]] + 1;
    lengths[leaves[i].symbol] = static_cast<std::uint8_t>(length);
    longest = std::max(longest, length);
  }
  return longest;
}

std::uint16_t reversed(std::uint16_t bits, int length) {
  std::uint16_t out = 0;
  for (int i = 0; i < length; ++i) out = static_cast<std::uint16_t>(out << 1U | (bits >> i & 1U));
  return out;
}

}  // namespace

void huffman_lengths(std::span<const std::uint32_t> counts, int limit,
                     std::span<std::uint8_t> lengths) {
  std::array<Leaf, kMaxSymbols> storage;
  std::size_t n = 0;
  std::fill(lengths.begin(), lengths.end(), std::uint8_t{0});
  for (std::size_t s = 0; s < counts.size(); ++s) {
    if (counts[s] != 0) storage[n++] = {counts[s], static_cast<std::uint16_t>(s)};
  }
  const std::span<Leaf> leaves(storage.data(), n);
  // Equal counts keep the order of their symbols, so that the code depends on nothing else.
  std::sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
    return a.count != b.count ? a.count < b.count : a.symbol < b.symbol;
  });
  while (unbounded_lengths(leaves, lengths) > limit) {
    // Halving keeps the order and, as counts end at 1, flattens the tree.
    for (Leaf& leaf : leaves) leaf.count = (leaf.count + 1) / 2;
  }
}

void canonical_codes(std::span<const std::uint8_t> lengths, std::span<Code> codes) {
  std::array<std::uint16_t, kMaxBits + 2> next{};
  for (const std::uint8_t length : lengths) {
    if (length != 0) ++next[length + 1U];
  }
  for (std::size_t bits = 1; bits < next.size(); ++bits) {
    next[bits] = static_cast<std::uint16_t>((next[bits] + next[bits - 1]) << 1U);
  }
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const std::uint8_t length = lengths[s];
    codes[s] = {length == 0 ? std::uint16_t{0} : reversed(next[length]++, length), length};
  }
}

}  // namespace attnscope::storage_detail
