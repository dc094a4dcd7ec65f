// A small font of dots: ASCII and a few signs, five dots wide, seven above the base line and two
// below. Anything else is a box.
#pragma once

namespace attnscope::render {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 9;
inline constexpr int kGlyphBaseline = 7;  // rows above the base line

// Whether the glyph of `code_point` has a dot at [row column].
bool glyph_dot(char32_t code_point, int row, int column);

}  // namespace attnscope::render
