#include "attnscope/data/prompt_reader.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

// Length of the longest prefix of `text` that begins some valid sequence, at least 1: the "maximal
// subpart" of the Unicode standard, chapter 3.9.
std::size_t invalid_part(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  std::size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  std::size_t i = 1;
  while (i < length && i < text.size() && byte(i) >= low && byte(i) <= high) {
    low = 0x80;
    high = 0xBF;
    ++i;
  }
  return i;
}

}  // namespace

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  while (const auto bad = first_invalid_utf8(text)) {
    out.append(text.substr(0, *bad));
    out += "\xEF\xBF\xBD";
    text.remove_prefix(*bad);
    text.remove_prefix(invalid_part(text));
  }
  return out.append(text);
}

}  // namespace attnscope
