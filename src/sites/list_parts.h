// File: list_parts.h
// The parts of a comma-separated list on the command line: numbers, ranges and stars, and the
// errors that name them.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

struct ListOption {
  std::string_view name;
  std::string_view whole;  // the option's whole text, for messages
};

struct IndexSpan {
  int first = 0;
  int last = 0;
};

// Throws SE20 (exit 2): the option, the part, why it is refused and what was expected.
[[noreturn]] void fail_list_part(const ListOption& option, std::string_view part,
                                 const std::string& why, const std::string& expected);

// "layer 0 to 11"; `what` is the noun in the singular.
std::string valid_range(int count, std::string_view what);

// "*", "all", "3" or "3-5" within [0, count). `part` is what messages show.
IndexSpan parse_span(std::string_view text, int count, std::string_view what, std::string_view part,
                     const ListOption& option);

}  // namespace attnscope
