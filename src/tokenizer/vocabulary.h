// Pieces and their ids, in compact tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::tok {

// Ids are below 2³¹; their size costs no memory, however many ids a file skips.
inline constexpr std::int64_t kMaxTokenId = 0x7FFFFFFF;
// Longer pieces do not occur; refusing them bounds the time that matching can take.
inline constexpr std::size_t kMaxPieceBytes = 4096;

class Vocabulary {
 public:
  void reserve(std::size_t pieces);
  // False when the piece is already there.
  bool add(std::string_view piece, std::int64_t id);
  // Sorts by id; call once after the last add. Returns the index of an entry whose id another
  // entry has too, if there is one.
  std::optional<std::size_t> finish();

  std::size_t size() const { return entries_.size(); }
  std::optional<std::int64_t> id(std::string_view piece) const;
  std::optional<std::string_view> piece(std::int64_t id) const;
  // The i-th piece added.
  std::string_view piece_at(std::size_t i) const {
    return {bytes_.data() + entries_[i].begin, entries_[i].length};
  }
  std::int64_t id_at(std::size_t i) const { return entries_[i].id; }
  std::int64_t max_id() const { return max_id_; }  // −1 when empty
  std::size_t longest_piece() const { return longest_; }

 private:
  struct Entry {
    std::size_t begin;
    std::uint32_t length;
    std::int32_t id;
  };
  struct Slot {
    std::uint32_t entry = 0;  // index + 1; 0 = free
    std::uint32_t tag = 0;    // part of the hash
  };

  std::size_t find_slot(std::string_view piece, std::size_t hash) const;
  void grow(std::size_t slots);

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> by_id_;  // entries in order of id; empty when entry i has id i
  std::int64_t max_id_ = -1;
  std::size_t longest_ = 0;
};

}  // namespace attnscope::tok
