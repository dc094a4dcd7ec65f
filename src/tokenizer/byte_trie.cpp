#include "byte_trie.h"

#include "attnscope/support/error.h"

namespace attnscope::tok {
namespace {

constexpr std::uint32_t kMaxNodes = 1u << 24;

std::size_t spread(std::uint32_t key) {
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 24);
}

}  // namespace

ByteTrie::ByteTrie() : edges_(256), values_(1, kNone) {
  first_.fill(kNone);
}

std::size_t ByteTrie::find_slot(std::uint32_t key) const {
  const std::size_t mask = edges_.size() - 1;
  for (std::size_t i = spread(key) & mask;; i = (i + 1) & mask) {
    if (edges_[i].key == key || edges_[i].key == kNone) return i;
  }
}

std::uint32_t ByteTrie::child(std::uint32_t node, unsigned char byte) const {
  if (node == 0) return first_[byte];
  const std::uint32_t key = node * 256 + byte;
  const Edge& edge = edges_[find_slot(key)];
  return edge.key == key ? edge.child : kNone;
}

std::uint32_t ByteTrie::add_child(std::uint32_t node, unsigned char byte) {
  const auto made = static_cast<std::uint32_t>(values_.size());
  // One below the limit, so that no key can be kNone.
  if (made >= kMaxNodes - 1) {
    throw Error(ErrorKind::limit, "TK13",
                {.where = "tokenizer", .what = "vocabulary needs a trie of more than 16 M nodes"});
  }
  values_.push_back(kNone);
  if (node == 0) {
    first_[byte] = made;
    return made;
  }
  if (values_.size() * 2 > edges_.size()) {
    std::vector<Edge> old(edges_.size() * 2);
    old.swap(edges_);
    for (const Edge& edge : old) {
      if (edge.key != kNone) edges_[find_slot(edge.key)] = edge;
    }
  }
  const std::uint32_t key = node * 256 + byte;
  edges_[find_slot(key)] = {key, made};
  return made;
}

void ByteTrie::add(std::string_view key, std::uint32_t value) {
  std::uint32_t node = 0;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const std::uint32_t next = child(node, byte);
    node = next == kNone ? add_child(node, byte) : next;
  }
  if (values_[node] == kNone) values_[node] = value;
}

}  // namespace attnscope::tok
