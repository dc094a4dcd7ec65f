// File: label.h
// Token text as a label: safe to print, and with a known width on the screen.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

// Columns that a terminal gives to a code point: 0 (combining marks, joiners), 1 or 2 (East Asian
// wide and full-width characters, emoji).
int code_point_width(char32_t code_point);
// The same for a whole text of valid UTF-8.
int display_width(std::string_view text);

// Token text for a label: a leading space as "·", line ends and tabs as "\n", "\t", and what could
// harm a terminal or a file (control characters, invalid bytes, bidirectional marks) as \xNN.
std::string token_label(std::string_view text);

// Cut to `width` columns; what was cut ends with "…". Never cuts a character in two.
std::string fit_width(std::string_view text, int width);

enum class Align { left, right };
// Cut or filled with spaces to exactly `width` columns.
std::string pad_to_width(std::string_view text, int width, Align align);

}  // namespace attnscope
