// Unicode properties and normal forms, as the libraries behind tokenizer.json files see them.
//
// Those libraries carry tables of different Unicode versions: categories for BERT-style cleaning
// are Unicode 8, normal forms Unicode 9; a code point that is younger counts as unassigned there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attnscope::tok {

// White_Space.
bool is_space(char32_t c);
bool is_letter(char32_t c);       // L*
bool is_number(char32_t c);       // N*
bool is_mark(char32_t c);         // M*
bool is_upper_class(char32_t c);  // Lu Lt Lm Lo M*
bool is_lower_class(char32_t c);  // Ll Lm Lo M*
// \w of regular expressions: Alphabetic, M*, Nd, Pc, Join_Control.
bool is_word(char32_t c);

// Control, format and private use code points that BERT's cleaning removes.
bool is_bert_control(char32_t c);
// Nonspacing marks that BERT's accent stripping removes.
bool is_bert_accent(char32_t c);
// ASCII punctuation and symbols, and P*.
bool is_punctuation(char32_t c);
// Marks that the StripAccents normalizer removes.
bool is_combining_mark(char32_t c);
bool is_cjk(char32_t c);

// Unconditional full lower case: U+0130 gives two code points.
struct LowerCase {
  char32_t first;
  char32_t second;  // 0 when there is none
};
LowerCase lower_case(char32_t c);

// Full canonical or compatibility decomposition of one code point, in UTF-32; `c` itself when it
// has none.
std::u32string decompose(char32_t c, bool compatibility);
std::uint8_t combining_class(char32_t c);
// The composition of two code points, or 0.
char32_t compose(char32_t first, char32_t second);

bool is_ascii(std::string_view text);
// The code point at `pos` of valid UTF-8; moves `pos` past it.
inline char32_t decode_at(std::string_view text, std::size_t& pos) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[pos + i]); };
  const char32_t lead = byte(0);
  if (lead < 0x80) {
    pos += 1;
    return lead;
  }
  char32_t c = 0;
  if (lead < 0xE0) {
    c = ((lead & 0x1Fu) << 6) | (byte(1) & 0x3Fu);
    pos += 2;
  } else if (lead < 0xF0) {
    c = ((lead & 0x0Fu) << 12) | ((byte(1) & 0x3Fu) << 6) | (byte(2) & 0x3Fu);
    pos += 3;
  } else {
    c = ((lead & 0x07u) << 18) | ((byte(1) & 0x3Fu) << 12) | ((byte(2) & 0x3Fu) << 6) |
        (byte(3) & 0x3Fu);
    pos += 4;
  }
  return c;
}
// Bytes of the UTF-8 sequence that `lead` begins.
inline std::size_t utf8_length(char lead) {
  const auto b = static_cast<unsigned char>(lead);
  return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}
inline std::size_t utf8_length(char32_t c) {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

}  // namespace attnscope::tok
