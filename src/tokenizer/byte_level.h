// The byte ↔ visible character table of byte-level tokenizers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "split_text.h"

namespace attnscope::tok {

// The code point that stands for a byte: itself where it is visible, else U+0100 and up.
char32_t byte_to_char(unsigned char byte);
// The byte a code point stands for, if it does.
std::optional<unsigned char> char_to_byte(char32_t c);

// Appends the bytes of `text` as byte characters, each from where its code point came from.
void append_byte_chars(std::string_view text, const SourceSpan* spans, std::string& out,
                       std::vector<SourceSpan>& out_spans);

// The bytes that a piece of byte characters stands for; the piece's own bytes when some character
// stands for none.
void append_piece_bytes(std::string_view piece, std::string& out);

// Invalid sequences become U+FFFD, one for each maximal part of a valid sequence.
std::string repair_utf8(std::string_view bytes);

}  // namespace attnscope::tok
