// File: text.h
// Small text helpers: locale-free numbers, nearest names, lists for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

// Shortest decimal that reads back as the same double; "nan", "inf", "-inf". Ignores the locale.
std::string format_number(double value);
// With `digits` significant digits.
std::string format_number(double value, int digits);

// "1.5 GiB", "300 MiB", "12 bytes", "1 byte".
std::string format_bytes(std::uint64_t bytes);

// "1 line", "2 lines", "0 batches", "3 entries": a count with its noun, which is given in the
// singular and alone or at the end of `noun` ("bad line").
std::string count_of(std::uint64_t count, std::string_view noun);

// The whole text as a number, or nothing. Ignores the locale; no spaces, no sign '+', no "0x".
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);  // spaces, tabs, CR, LF
// & < > " ' as entities: text between the tags of HTML and SVG, or in a quoted attribute.
std::string escape_markup(std::string_view text);

// Up to three of `candidates` nearest to `name` by edit distance, nearest first; empty when none
// is near enough to be worth suggesting.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

// Glob with '*' and '?'; everything else is literal.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace attnscope
