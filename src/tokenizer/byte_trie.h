// A trie over bytes, for prefix searches.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attnscope::tok {

class ByteTrie {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  ByteTrie();
  // `value` of a key that is already there stays. Throws TK13 (exit 4) above 2²⁴ nodes.
  void add(std::string_view key, std::uint32_t value);

  // Calls `found(length, value)` for each key that begins `text`, shortest first.
  template <typename Found>
  void prefixes(std::string_view text, Found found) const {
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == kNone) return;
      if (values_[node] != kNone) found(i + 1, values_[node]);
    }
  }

 private:
  struct Edge {
    std::uint32_t key = kNone;  // node · 256 + byte
    std::uint32_t child = 0;
  };

  std::uint32_t child(std::uint32_t node, unsigned char byte) const;
  std::size_t find_slot(std::uint32_t key) const;
  std::uint32_t add_child(std::uint32_t node, unsigned char byte);

  std::array<std::uint32_t, 256> first_;  // children of the root
  std::vector<Edge> edges_;               // open addressing, for all other nodes
  std::vector<std::uint32_t> values_;     // one per node
};

}  // namespace attnscope::tok
