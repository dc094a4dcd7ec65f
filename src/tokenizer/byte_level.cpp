#include "byte_level.h"

#include <array>
#include <cstdint>

#include "attnscope/support/utf8.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

struct Tables {
  std::array<char32_t, 256> to_char{};
  std::array<std::int16_t, 512> to_byte{};
};

const Tables& tables() {
  static const Tables kTables = [] {
    Tables t;
    t.to_byte.fill(-1);
    char32_t next = 256;
    for (unsigned b = 0; b < 256; ++b) {
      const bool visible = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      t.to_char[b] = visible ? static_cast<char32_t>(b) : next++;
      t.to_byte[t.to_char[b]] = static_cast<std::int16_t>(b);
    }
    return t;
  }();
  return kTables;
}

// Length of the longest prefix of `bytes` that begins a valid UTF-8 sequence, and whether it is
// whole. At least 1.
struct Sequence {
  std::size_t length;
  bool whole;
};

Sequence next_sequence(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, true};
  const std::size_t need = lead >= 0xC2 && lead <= 0xDF   ? 2
                           : lead >= 0xE0 && lead <= 0xEF ? 3
                           : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                          : 0;
  if (need == 0) return {1, false};
  for (std::size_t i = 1; i < need; ++i) {
    if (i >= bytes.size()) return {i, false};
    const unsigned char low = i > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = i > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at(i) < low || at(i) > high) return {i, false};
  }
  return {need, true};
}

}  // namespace

char32_t byte_to_char(unsigned char byte) {
  return tables().to_char[byte];
}

std::optional<unsigned char> char_to_byte(char32_t c) {
  if (c >= 512 || tables().to_byte[c] < 0) return std::nullopt;
  return static_cast<unsigned char>(tables().to_byte[c]);
}

void append_byte_chars(std::string_view text, const SourceSpan* spans, std::string& out,
                       std::vector<SourceSpan>& out_spans) {
  const Tables& t = tables();
  for (std::size_t pos = 0; pos < text.size();) {
    // Every byte of a code point comes from where its first byte came from.
    const SourceSpan span = spans[pos];
    const std::size_t end = pos + utf8_length(text[pos]);
    for (; pos < end; ++pos) {
      const char32_t c = t.to_char[static_cast<unsigned char>(text[pos])];
      append_utf8(out, c);
      out_spans.resize(out.size(), span);
    }
  }
}

void append_piece_bytes(std::string_view piece, std::string& out) {
  const std::size_t start = out.size();
  for (std::size_t pos = 0; pos < piece.size();) {
    const auto byte = char_to_byte(decode_at(piece, pos));
    if (!byte) {
      out.resize(start);
      out += piece;
      return;
    }
    out.push_back(static_cast<char>(*byte));
  }
}

std::string repair_utf8(std::string_view bytes) {
  if (!first_invalid_utf8(bytes)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Sequence sequence = next_sequence(bytes);
    if (sequence.whole) {
      out += bytes.substr(0, sequence.length);
    } else {
      append_utf8(out, 0xFFFD);
    }
    bytes.remove_prefix(sequence.length);
  }
  return out;
}

}  // namespace attnscope::tok
