#include "added_tokens.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "loading.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

[[noreturn]] void fail(const JsonObject& entry, const AddedToken& token, const std::string& what) {
  throw Error(
      ErrorKind::input, "TK09",
      {.where = entry.where(), .what = "added token " + quote(token.content, 40) + " " + what});
}

// The code point that ends before `end`.
char32_t code_point_before(std::string_view text, std::size_t end) {
  std::size_t pos = end - 1;
  while (pos > 0 && (static_cast<unsigned char>(text[pos]) & 0xC0u) == 0x80u) --pos;
  return decode_at(text, pos);
}

char32_t code_point_at(std::string_view text, std::size_t pos) {
  return decode_at(text, pos);
}

}  // namespace

AddedTokens::AddedTokens(const JsonObject& file, const Vocabulary& vocabulary,
                         const Normalizer* normalizer) {
  if (!file.has("added_tokens")) return;
  std::int64_t highest = -1;
  for_each_object(file, "added_tokens", [&](const JsonObject& entry) {
    AddedToken token;
    token.id = entry.integer("id", {.low = 0, .high = kMaxTokenId});
    token.content = entry.string("content");
    token.single_word = entry.boolean_or("single_word", false);
    token.lstrip = entry.boolean_or("lstrip", false);
    token.rstrip = entry.boolean_or("rstrip", false);
    token.special = entry.boolean_or("special", false);
    token.normalized = entry.boolean_or("normalized", !token.special);
    const auto size = static_cast<std::int64_t>(vocabulary.size());
    check(entry, token, vocabulary, highest >= size ? highest + 1 : size);
    highest = std::max(highest, token.id);

    const std::size_t place = tokens_.size();
    if (token.normalized && normalizer != nullptr) {
      SplitText whole(token.content);
      AlignedText content = whole.copy(whole.pieces.front());
      normalizer->apply(content);
      if (content.text.empty()) fail(entry, token, "is empty after normalisation");
      add_to(normalized_, content.text, place);
    } else {
      add_to(token.normalized ? normalized_ : raw_, token.content, place);
    }
    by_id_.emplace(token.id, place);
    by_content_.emplace(token.content, place);
    tokens_.push_back(std::move(token));
  });
}

void AddedTokens::check(const JsonObject& entry, const AddedToken& token,
                        const Vocabulary& vocabulary, std::int64_t next_free) const {
  if (token.content.empty()) fail(entry, token, "is empty");
  if (token.content.size() > kMaxPieceBytes) {
    fail(entry, token,
         "has " + count_of(token.content.size(), "byte") + ", the limit is " +
             std::to_string(kMaxPieceBytes));
  }
  if (by_content_.contains(token.content)) fail(entry, token, "is listed twice");
  if (by_id_.contains(token.id)) {
    fail(entry, token, "has id " + std::to_string(token.id) + ", which another added token has");
  }
  // The library gives a token that is not in the vocabulary the next free id, whatever the file
  // says; a file that says otherwise would mean two things.
  const std::int64_t expected = vocabulary.id(token.content).value_or(next_free);
  if (token.id != expected) {
    fail(entry, token,
         "has id " + std::to_string(token.id) + " where " + std::to_string(expected) +
             " is expected");
  }
}

void AddedTokens::add_to(Finder& finder, const std::string& content, std::size_t place) {
  finder.trie.add(content, static_cast<std::uint32_t>(place));
  finder.empty = false;
}

template <typename Part>
void AddedTokens::scan(std::string_view text, const Finder& finder, Part part) const {
  std::size_t covered = 0;  // end of the last part
  for (std::size_t pos = 0; pos < text.size() && !finder.empty;) {
    std::size_t length = 0;
    std::uint32_t place = 0;
    finder.trie.prefixes(text.substr(pos), [&](std::size_t found, std::uint32_t value) {
      length = found;
      place = value;
    });
    if (length == 0) {
      ++pos;
      continue;
    }
    const AddedToken& token = tokens_[place];
    std::size_t begin = pos;
    std::size_t end = pos + length;
    pos = end;
    if (token.single_word) {
      const bool touched = (begin > 0 && is_word(code_point_before(text, begin))) ||
                           (end < text.size() && is_word(code_point_at(text, end)));
      if (touched) continue;
    }
    if (token.lstrip) {
      // Spaces that the token before took are not taken again.
      begin = std::max(begin, covered);
      while (begin > covered && is_space(code_point_before(text, begin))) {
        do {
          --begin;
        } while ((static_cast<unsigned char>(text[begin]) & 0xC0u) == 0x80u);
      }
    }
    if (token.rstrip) {
      while (end < text.size() && is_space(code_point_at(text, end))) {
        end += utf8_length(text[end]);
      }
    }
    if (begin >= end) continue;
    if (covered < begin) part(covered, begin, nullptr);
    part(begin, end, &token);
    covered = end;
  }
  if (covered < text.size()) part(covered, text.size(), nullptr);
}

SplitText AddedTokens::split(std::string_view text, const Normalizer* normalizer) const {
  SplitText whole(text);
  if (raw_.empty && normalized_.empty && normalizer == nullptr) return whole;
  // Both searches give parts of one piece; a part begins where its first byte came from.
  const auto cut = [this](SplitText& from, const Finder& finder) {
    std::vector<TextPiece> pieces;
    for (const TextPiece& piece : from.pieces) {
      if (piece.token != kNoToken) {
        pieces.push_back(piece);
        continue;
      }
      scan(from.view(piece), finder,
           [&](std::size_t begin, std::size_t end, const AddedToken* token) {
             const auto first = piece.begin + static_cast<std::uint32_t>(begin);
             pieces.push_back({first, piece.begin + static_cast<std::uint32_t>(end),
                               from.spans[first].begin, token ? token->id : kNoToken});
           });
    }
    from.pieces = std::move(pieces);
  };
  cut(whole, raw_);
  if (normalizer != nullptr) {
    SplitText normalised;
    for (const TextPiece& piece : whole.pieces) {
      AlignedText part = whole.copy(piece);
      if (piece.token == kNoToken) normalizer->apply(part);
      normalised.append(part, piece.token);
    }
    whole = std::move(normalised);
  }
  cut(whole, normalized_);
  return whole;
}

const AddedToken* AddedTokens::find(std::int64_t id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &tokens_[at->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto at = by_content_.find(content);
  return at == by_content_.end() ? nullptr : &tokens_[at->second];
}

}  // namespace attnscope::tok
