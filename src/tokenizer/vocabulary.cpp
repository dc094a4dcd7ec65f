#include "vocabulary.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace attnscope::tok {
namespace {

std::size_t hash_of(std::string_view piece) {
  return std::hash<std::string_view>{}(piece);
}
std::uint32_t tag_of(std::size_t hash) {
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

void Vocabulary::reserve(std::size_t pieces) {
  entries_.reserve(pieces);
  std::size_t slots = 64;
  while (slots < pieces * 2) slots *= 2;
  if (slots > slots_.size()) grow(slots);
}

void Vocabulary::grow(std::size_t slots) {
  slots_.assign(slots, {});
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t hash = hash_of(piece_at(i));
    slots_[find_slot(piece_at(i), hash)] = {static_cast<std::uint32_t>(i + 1), tag_of(hash)};
  }
}

std::size_t Vocabulary::find_slot(std::string_view piece, std::size_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot slot = slots_[i];
    if (slot.entry == 0) return i;
    if (slot.tag == tag_of(hash) && piece_at(slot.entry - 1) == piece) return i;
  }
}

bool Vocabulary::add(std::string_view piece, std::int64_t id) {
  if (slots_.size() < (entries_.size() + 1) * 2) grow(std::max<std::size_t>(64, slots_.size() * 2));
  const std::size_t hash = hash_of(piece);
  Slot& slot = slots_[find_slot(piece, hash)];
  if (slot.entry != 0) return false;
  slot = {static_cast<std::uint32_t>(entries_.size() + 1), tag_of(hash)};
  entries_.push_back(
      {bytes_.size(), static_cast<std::uint32_t>(piece.size()), static_cast<std::int32_t>(id)});
  bytes_ += piece;
  max_id_ = std::max(max_id_, id);
  longest_ = std::max(longest_, piece.size());
  return true;
}

std::optional<std::size_t> Vocabulary::finish() {
  bool in_order = true;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].id != static_cast<std::int32_t>(i)) in_order = false;
  }
  by_id_.clear();
  if (in_order) return std::nullopt;
  by_id_.resize(entries_.size());
  std::iota(by_id_.begin(), by_id_.end(), 0u);
  std::stable_sort(by_id_.begin(), by_id_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return entries_[a].id < entries_[b].id;
  });
  for (std::size_t i = 1; i < by_id_.size(); ++i) {
    if (entries_[by_id_[i]].id == entries_[by_id_[i - 1]].id) return by_id_[i];
  }
  return std::nullopt;
}

std::optional<std::int64_t> Vocabulary::id(std::string_view piece) const {
  if (slots_.empty()) return std::nullopt;
  const Slot slot = slots_[find_slot(piece, hash_of(piece))];
  if (slot.entry == 0) return std::nullopt;
  return entries_[slot.entry - 1].id;
}

std::optional<std::string_view> Vocabulary::piece(std::int64_t id) const {
  if (id < 0 || id > max_id_) return std::nullopt;
  if (by_id_.empty()) return piece_at(static_cast<std::size_t>(id));
  const auto at = std::lower_bound(
      by_id_.begin(), by_id_.end(), id,
      [this](std::uint32_t entry, std::int64_t wanted) { return entries_[entry].id < wanted; });
  if (at == by_id_.end() || entries_[*at].id != id) return std::nullopt;
  return piece_at(*at);
}

}  // namespace attnscope::tok
