// File: line_checks.h
// What the readers of prompt files and of pairs files check of a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/tokenizer/tokenizer.h"
#include "delimited_text.h"

namespace attnscope {

// What is wrong with one line; becomes an Error with the line number, or a count.
struct BadLine {
  std::string reason;
};

// ".csv"; empty when the name has none.
std::string suffix_of(const std::string& path);

// `text`, with invalid UTF-8 replaced or refused (BadLine).
std::string checked_text(std::string text, InvalidUtf8 policy);

// "5,17,3", "[5, 17, 3]" or "5 17 3".
std::vector<std::int64_t> parse_id_field(const std::string& name, std::string_view text);

// The next record of a table with `columns` columns; throws BadLine for one that is malformed or
// has another number of fields. False at the end.
bool next_row(DelimitedText& records, std::size_t columns, std::vector<std::string>& fields);

void drop_carriage_return(std::string& line);

}  // namespace attnscope
