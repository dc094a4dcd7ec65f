// File: utf8.h
// UTF-8 checks and the escaping of untrusted text for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnscope {

// Byte offset of the first byte that is not valid UTF-8 (overlong forms, surrogates and values
// above U+10FFFF are invalid), or nothing.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// Decodes the code point at `pos` and moves `pos` past it. `text` must be valid UTF-8.
char32_t next_code_point(std::string_view text, std::size_t& pos);

void append_utf8(std::string& out, char32_t code_point);

// Number of code points; `text` must be valid UTF-8.
std::size_t count_code_points(std::string_view text);

// Text that came from a file or a user, made safe for a one-line message: control characters,
// invalid bytes, bidirectional marks and backslashes as \xNN, cut to `max_bytes` with "…".
std::string escape_untrusted(std::string_view text, std::size_t max_bytes = 120);

// "text" in double quotes, escaped as above; in single quotes where it has double ones itself.
std::string quote(std::string_view text, std::size_t max_bytes = 120);

}  // namespace attnscope
