#include "attnscope/support/utf8.h"

#include <array>

namespace attnscope {
namespace {

// Length of the valid sequence that starts at `pos`, or 0.
std::size_t sequence_length(std::string_view text, std::size_t pos) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[pos + i]); };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return pos + i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

// Marks that change the direction of the text around them could hide part of a message.
bool is_bidirectional_mark(char32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E ||
         c == 0x200F || c == 0x061C;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  std::size_t pos = 0;
  while (pos < text.size()) {
    const std::size_t length = sequence_length(text, pos);
    if (length == 0) return pos;
    pos += length;
  }
  return std::nullopt;
}

char32_t next_code_point(std::string_view text, std::size_t& pos) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte(pos);
  if (first < 0x80) {
    pos += 1;
    return first;
  }
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t value = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length && pos + i < text.size(); ++i) {
    value = (value << 6) | (byte(pos + i) & 0x3Fu);
  }
  pos += length;
  return value;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t b) { out.push_back(static_cast<char>(b)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::string escape_untrusted(std::string_view text, std::size_t max_bytes) {
  static constexpr std::array<char, 16> kHex = {'0', '1', '2', '3', '4', '5', '6', '7',
                                                '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'};
  std::string out;
  std::size_t pos = 0;
  while (pos < text.size()) {
    const std::size_t length = sequence_length(text, pos);
    std::string piece;
    std::size_t next = pos;
    const char32_t c = length == 0 ? 0 : next_code_point(text, next);
    const bool plain = length != 0 && c >= 0x20 && c != 0x7F && c != U'\\' &&
                       !(c >= 0x80 && c < 0xA0) && !is_bidirectional_mark(c);
    const std::size_t step = length == 0 ? 1 : length;
    if (plain) {
      piece = text.substr(pos, step);
    } else {
      for (std::size_t i = 0; i < step; ++i) {
        const auto b = static_cast<unsigned char>(text[pos + i]);
        piece += "\\x";
        piece += kHex[b >> 4];
        piece += kHex[b & 15];
      }
    }
    if (out.size() + piece.size() > max_bytes) return out + "…";
    out += piece;
    pos += step;
  }
  return out;
}

std::string quote(std::string_view text, std::size_t max_bytes) {
  const char mark = text.find('"') == std::string_view::npos ? '"' : '\'';
  return mark + escape_untrusted(text, max_bytes) + mark;
}

}  // namespace attnscope
