// UTF-8 checks and the escaping of untrusted text, against ICU's decoder.
#include <unicode/utf8.h>

#include <optional>
#include <string>

#include "attnscope/data/prompt_reader.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

struct Reference {
  std::optional<std::size_t> first_invalid;
  std::size_t code_points = 0;
  std::string replaced;  // each maximal invalid part is one U+FFFD
};

Reference decode(const std::uint8_t* data, std::size_t size) {
  Reference out;
  const auto end = static_cast<std::int32_t>(size);
  for (std::int32_t i = 0; i < end;) {
    const std::int32_t begin = i;
    UChar32 c = 0;
    U8_NEXT(data, i, end, c);
    if (c < 0 && !out.first_invalid) out.first_invalid = static_cast<std::size_t>(begin);
    out.replaced += c < 0 ? std::string("\xEF\xBF\xBD")
                          : std::string(as_text(data + begin, static_cast<std::size_t>(i - begin)));
    ++out.code_points;
  }
  return out;
}

// One line of printable text, however hostile what it came from.
void check_escaped(std::string_view text, std::size_t limit) {
  const std::string escaped = escape_untrusted(text, limit);
  check(escaped.size() <= limit + std::string_view("…").size(), "escaped text above its limit");
  check(!first_invalid_utf8(escaped), "escaped text that is not UTF-8");
  for (std::size_t pos = 0; pos < escaped.size();) {
    const char32_t c = next_code_point(escaped, pos);
    check(c >= 0x20 && !(c >= 0x7F && c < 0xA0), "a control character in escaped text");
    check(!(c >= 0x202A && c <= 0x202E) && !(c >= 0x2066 && c <= 0x2069),
          "a mark that turns the direction of text");
  }
}

void check_numbers(std::string_view text) {
  if (const auto number = parse_number(text); number && *number == *number) {
    check(parse_number(format_number(*number)) == number, "a number that does not come back");
  }
  if (const auto integer = parse_integer(text)) {
    check(parse_integer(std::to_string(*integer)) == integer, "an integer that does not come back");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const Reference reference = decode(data, size);
  check(first_invalid_utf8(text) == reference.first_invalid, "where UTF-8 is invalid");
  check(replace_invalid_utf8(text) == reference.replaced, "how invalid UTF-8 is replaced");
  if (!reference.first_invalid) {
    check(count_code_points(text) == reference.code_points, "the number of code points");
    std::string copy;
    for (std::size_t pos = 0; pos < text.size();) append_utf8(copy, next_code_point(text, pos));
    check(copy == text, "code points that do not come back");
  }
  check_escaped(text, size % 200);
  check_numbers(text);
  const std::size_t half = size / 2;
  check(glob_match(text.substr(0, half), text.substr(0, half)) || text.find('?') != text.npos,
        "a text that matches itself");
  glob_match(text.substr(0, half), text.substr(half));
  nearest(text, {"hook_pattern", "hook_z", "hook_resid_pre"});
  return 0;
}
