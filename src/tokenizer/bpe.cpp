// Byte-pair encoding (Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword
// Units"), with merges taken from a heap so that a word of n symbols costs O(n log n).
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "models.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

struct Merge {
  std::uint32_t rank = 0;
  std::int32_t merged = 0;
};

// (left id, right id) → merge, by open addressing.
class MergeTable {
 public:
  void reserve(std::size_t merges) {
    std::size_t slots = 16;
    while (slots < merges * 2) slots *= 2;
    slots_.assign(slots, {});
  }

  // A pair that comes twice takes the later rank, as the reference library's map does.
  void set(std::int64_t left, std::int64_t right, Merge merge) {
    Slot& slot = slots_[find_slot(key_of(left, right))];
    slot = {key_of(left, right), merge};
  }

  const Merge* find(std::int64_t left, std::int64_t right) const {
    const Slot& slot = slots_[find_slot(key_of(left, right))];
    return slot.key == kFree ? nullptr : &slot.merge;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kFree;
    Merge merge;
  };

  static std::uint64_t key_of(std::int64_t left, std::int64_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
  }

  std::size_t find_slot(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::uint64_t hash = key * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      if (slots_[i].key == key || slots_[i].key == kFree) return i;
    }
  }

  std::vector<Slot> slots_;
};

struct BpeOptions {
  std::optional<std::string> unknown;
  std::string continuing_prefix;
  std::string end_of_word_suffix;
  bool fuse_unknown = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
};

class Bpe final : public TokenModel {
 public:
  Bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options)
      : TokenModel(TokenizerKind::bpe, std::move(vocabulary)),
        merges_(std::move(merges)),
        options_(std::move(options)) {
    for (unsigned b = 0; b < 256; ++b) {
      byte_ids_[b] = vocabulary_.id(byte_piece(static_cast<unsigned char>(b))).value_or(-1);
    }
    if (options_.unknown) unknown_id_ = vocabulary_.id(*options_.unknown);
  }

  void tokenize(std::string_view word, Workspace& workspace,
                std::vector<ModelToken>& tokens) const override {
    if (options_.ignore_merges) {
      if (const auto id = vocabulary_.id(word)) {
        tokens.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
        return;
      }
    }
    workspace.symbols.clear();
    split_into_symbols(word, workspace);
    merge_all(workspace);
    std::uint32_t begin = 0;
    for (const auto& symbol : workspace.symbols) {
      if (symbol.bytes == 0) continue;
      tokens.push_back({symbol.id, begin, begin + symbol.bytes});
      begin += symbol.bytes;
    }
  }

  std::string_view unknown_piece() const override {
    return options_.unknown ? std::string_view(*options_.unknown) : std::string_view();
  }

 private:
  static void push(std::vector<Workspace::Symbol>& symbols, std::int64_t id, std::size_t bytes) {
    const auto n = static_cast<std::int32_t>(symbols.size());
    if (n > 0) symbols.back().next = n;
    symbols.push_back(
        {static_cast<std::int32_t>(id), n - 1, -1, static_cast<std::uint32_t>(bytes)});
  }

  // One symbol a code point, with the prefix and suffix that the vocabulary spells. A code point
  // that has no symbol becomes bytes, else the unknown token, else nothing.
  void split_into_symbols(std::string_view word, Workspace& workspace) const {
    auto& symbols = workspace.symbols;
    std::size_t unknown_bytes = 0;  // of the unknown token that is not pushed yet
    std::string spelled;
    for (std::size_t pos = 0; pos < word.size();) {
      const std::size_t begin = pos;
      pos += utf8_length(word[pos]);
      std::string_view symbol = word.substr(begin, pos - begin);
      const bool continues = begin > 0 && !options_.continuing_prefix.empty();
      const bool ends = pos == word.size() && !options_.end_of_word_suffix.empty();
      if (continues || ends) {
        spelled.assign(continues ? options_.continuing_prefix : "");
        spelled += symbol;
        if (ends) spelled += options_.end_of_word_suffix;
        symbol = spelled;
      }
      if (const auto id = vocabulary_.id(symbol)) {
        if (unknown_bytes > 0) push(symbols, *unknown_id_, std::exchange(unknown_bytes, 0));
        push(symbols, *id, pos - begin);
      } else if (options_.byte_fallback && has_all_bytes(symbol)) {
        for (const char b : symbol) push(symbols, byte_ids_[static_cast<unsigned char>(b)], 1);
      } else if (options_.unknown) {
        if (!unknown_id_) fail_unknown_token(word);
        if (unknown_bytes > 0 && !options_.fuse_unknown) {
          push(symbols, *unknown_id_, std::exchange(unknown_bytes, 0));
        }
        unknown_bytes += pos - begin;
      }
    }
    if (unknown_bytes > 0) push(symbols, *unknown_id_, unknown_bytes);
  }

  bool has_all_bytes(std::string_view symbol) const {
    return std::all_of(symbol.begin(), symbol.end(),
                       [this](char b) { return byte_ids_[static_cast<unsigned char>(b)] >= 0; });
  }

  // Applies the merge of lowest rank, leftmost first, until none is left.
  void merge_all(Workspace& workspace) const {
    auto& symbols = workspace.symbols;
    auto& heap = workspace.heap;
    const auto later = [](const Workspace::Candidate& a, const Workspace::Candidate& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
    };
    heap.clear();
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (const Merge* merge = merges_.find(symbols[i].id, symbols[i + 1].id)) {
        heap.push_back({merge->rank, static_cast<std::uint32_t>(i), merge->merged});
      }
    }
    std::make_heap(heap.begin(), heap.end(), later);
    const auto propose = [&](std::int32_t left, std::int32_t right) {
      const Merge* merge = merges_.find(symbols[static_cast<std::size_t>(left)].id,
                                        symbols[static_cast<std::size_t>(right)].id);
      if (merge == nullptr) return;
      heap.push_back({merge->rank, static_cast<std::uint32_t>(left), merge->merged});
      std::push_heap(heap.begin(), heap.end(), later);
    };
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      const Workspace::Candidate top = heap.back();
      heap.pop_back();
      Workspace::Symbol& left = symbols[top.position];
      if (left.bytes == 0 || left.next < 0) continue;
      Workspace::Symbol& right = symbols[static_cast<std::size_t>(left.next)];
      // The candidate is stale unless the pair that stands here now gives the same piece.
      const Merge* merge = merges_.find(left.id, right.id);
      if (merge == nullptr || merge->merged != top.merged) continue;
      left.id = top.merged;
      left.bytes += right.bytes;
      left.next = right.next;
      right.bytes = 0;
      const auto here = static_cast<std::int32_t>(top.position);
      if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = here;
      if (left.previous >= 0) propose(left.previous, here);
      if (left.next >= 0) propose(here, left.next);
    }
  }

  MergeTable merges_;
  BpeOptions options_;
  std::array<std::int64_t, 256> byte_ids_{};
  std::optional<std::int64_t> unknown_id_;
};

[[noreturn]] void fail_merge(const JsonObject& model, std::size_t rank, const std::string& what) {
  throw Error(ErrorKind::input, "TK08",
              {.where = model.where(), .what = "merge " + std::to_string(rank) + " " + what});
}

MergeTable resolve_merges(const JsonObject& model, const ModelTables& tables,
                          const std::string& prefix) {
  const Vocabulary& vocabulary = tables.vocabulary;
  const MergeList& merges = tables.merges;
  MergeTable table;
  table.reserve(merges.size());
  const std::size_t prefix_length = count_code_points(prefix);
  std::string merged;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view left = merges.left(rank);
    const std::string_view right = merges.right(rank);
    const auto id_of = [&](std::string_view piece) {
      const auto id = vocabulary.id(piece);
      if (!id)
        fail_merge(model, rank, "names " + quote(piece) + ", which is not in the vocabulary");
      return *id;
    };
    if (right.size() < prefix_length) {
      fail_merge(model, rank, "joins " + quote(right) + ", which is shorter than the prefix");
    }
    const std::int64_t left_id = id_of(left);
    const std::int64_t right_id = id_of(right);
    merged.assign(left);
    merged += right.substr(prefix_length);
    table.set(left_id, right_id,
              {static_cast<std::uint32_t>(rank), static_cast<std::int32_t>(id_of(merged))});
  }
  return table;
}

}  // namespace

std::unique_ptr<TokenModel> make_bpe(const JsonObject& model, ModelTables& tables) {
  if (model.number_or("dropout", 0.0) != 0.0) {
    throw Error(
        ErrorKind::input, "TK10",
        {.where = model.where(),
         .what = "model.dropout is not 0, so the same text would give other tokens each time",
         .next = "set it to null"});
  }
  BpeOptions options;
  if (model.has("unk_token")) options.unknown = model.string("unk_token");
  options.continuing_prefix = model.string_or("continuing_subword_prefix", "");
  options.end_of_word_suffix = model.string_or("end_of_word_suffix", "");
  options.fuse_unknown = model.boolean_or("fuse_unk", false);
  options.byte_fallback = model.boolean_or("byte_fallback", false);
  options.ignore_merges = model.boolean_or("ignore_merges", false);
  MergeTable merges = resolve_merges(model, tables, options.continuing_prefix);
  return std::make_unique<Bpe>(std::move(tables.vocabulary), std::move(merges), std::move(options));
}

}  // namespace attnscope::tok
