#include "precompiled.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <array>
#include <memory>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

constexpr std::size_t kMaxClusterBytes = 5;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::input, "TK12",
              {.where = where, .what = "normalizer precompiled_charsmap " + what});
}

std::string decode_base64(std::string_view text, const std::string& where) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (const char c : text) {
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (v < 0) fail(where, "is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>(bits >> count & 0xFFu));
    }
  }
  return out;
}

// Fields of one unit of the double array.
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1u) == 1u;
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & 0x7FFFFFFFu;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & 0x800000FFu;
}
std::uint32_t offset_of(std::uint32_t unit) {
  return unit >> 10 << ((unit & 0x200u) >> 6);
}

// Calls `each` with every grapheme cluster of `text`.
template <typename Each>
void for_each_cluster(std::string_view text, Each each) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<UBreakIterator, decltype(&ubrk_close)> clusters(
      ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &status), ubrk_close);
  const std::unique_ptr<UText, decltype(&utext_close)> utext(
      utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status),
      utext_close);
  ubrk_setUText(clusters.get(), utext.get(), &status);
  if (U_FAILURE(status)) {
    throw Error(ErrorKind::output, "TK70",
                {.where = "ICU", .what = std::string("no break iterator: ") + u_errorName(status)});
  }
  auto begin = static_cast<std::size_t>(ubrk_first(clusters.get()));
  for (std::int32_t end = ubrk_next(clusters.get()); end != UBRK_DONE;
       end = ubrk_next(clusters.get())) {
    each(text.substr(begin, static_cast<std::size_t>(end) - begin));
    begin = static_cast<std::size_t>(end);
  }
}

// In ASCII the only cluster of two characters is CR LF.
template <typename Each>
void for_each_ascii_cluster(std::string_view text, Each each) {
  for (std::size_t pos = 0; pos < text.size();) {
    const std::size_t length = text.substr(pos, 2) == "\r\n" ? 2 : 1;
    each(text.substr(pos, length));
    pos += length;
  }
}

}  // namespace

PrecompiledMap::PrecompiledMap(std::string_view base64, const std::string& where) {
  const std::string bytes = decode_base64(base64, where);
  const auto word_at = [&bytes](std::size_t i) {
    std::uint32_t word = 0;
    for (unsigned k = 0; k < 4; ++k) {
      word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + k])) << (8 * k);
    }
    return word;
  };
  if (bytes.size() < 4) fail(where, "is cut");
  const std::size_t trie_bytes = word_at(0);
  if (trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > bytes.size() - 4) {
    fail(where, "has a wrong trie size");
  }
  units_.reserve(trie_bytes / 4);
  for (std::size_t i = 4; i < 4 + trie_bytes; i += 4) units_.push_back(word_at(i));
  replacements_ = bytes.substr(4 + trie_bytes);
  if (first_invalid_utf8(replacements_)) fail(where, "holds text that is not UTF-8");
}

std::optional<std::string_view> PrecompiledMap::find(std::string_view chunk) const {
  std::size_t node = offset_of(units_[0]);
  for (const char c : chunk) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return std::nullopt;
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) return std::nullopt;
    const std::size_t begin = value_of(units_[node]);
    if (begin >= replacements_.size()) return std::nullopt;
    const std::string_view rest = std::string_view(replacements_).substr(begin);
    // A damaged map could point into the middle of a character.
    if ((static_cast<unsigned char>(rest[0]) & 0xC0u) == 0x80u) return std::nullopt;
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

bool PrecompiledMap::map(std::string_view chunk, std::vector<Edit>& edits) const {
  const auto replacement = find(chunk);
  if (!replacement) return false;
  const auto old_count = static_cast<std::int32_t>(count_code_points(chunk));
  const auto new_count = static_cast<std::int32_t>(count_code_points(*replacement));
  for (std::size_t pos = 0; pos < replacement->size();) {
    edits.push_back({decode_at(*replacement, pos), 0});
  }
  // New code points beyond the old ones are insertions; old ones beyond the new go with the last
  // one written, which may belong to the text before.
  for (std::int32_t i = 0; i < new_count - old_count; ++i) {
    edits[edits.size() - 1 - static_cast<std::size_t>(i)].change = 1;
  }
  if (new_count < old_count && !edits.empty()) edits.back().change += new_count - old_count;
  return true;
}

void PrecompiledMap::apply(AlignedText& text) const {
  std::vector<Edit> edits;
  edits.reserve(text.text.size());
  bool changed = false;
  const auto each = [&](std::string_view cluster) {
    if (cluster.size() <= kMaxClusterBytes && map(cluster, edits)) {
      changed = true;
      return;
    }
    for (std::size_t pos = 0; pos < cluster.size();) {
      const std::size_t begin = pos;
      const char32_t c = decode_at(cluster, pos);
      if (map(cluster.substr(begin, pos - begin), edits)) {
        changed = true;
      } else {
        edits.push_back({c, 0});
      }
    }
  };
  if (is_ascii(text.text)) {
    for_each_ascii_cluster(text.text, each);
  } else {
    for_each_cluster(text.text, each);
  }
  if (changed) text.rewrite(edits);
}

}  // namespace attnscope::tok
