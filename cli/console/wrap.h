// File: wrap.h
// Text for people in lines that fit a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscope::console {

// Columns of lines for people: those of the terminal, at most 100; 0, which wraps nothing, where
// standard output is no terminal, for programs that look for a sentence find it whole.
int text_columns();

// The words of one line in lines of at most `columns`; a longer word has a line of its own. With 0
// columns the line as it is.
std::vector<std::string> wrapped_lines(std::string_view line, int columns);

// Every line of a text wrapped.
std::string wrapped(std::string_view text, int columns);

}  // namespace attnscope::console
