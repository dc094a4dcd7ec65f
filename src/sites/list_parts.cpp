#include "list_parts.h"

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {

void fail_list_part(const ListOption& option, std::string_view part, const std::string& why,
                    const std::string& expected) {
  const std::string in = part == option.whole ? "" : " in " + quote(option.whole);
  throw Error(ErrorKind::input, "SE20",
              {.where = std::string(option.name),
               .what = (part.empty() ? "an empty part" : quote(part)) + in + why,
               .expected = expected});
}

std::string valid_range(int count, std::string_view what) {
  if (count <= 0) return "nothing: there is no " + std::string(what);
  return std::string(what) + " 0" + (count == 1 ? "" : " to " + std::to_string(count - 1));
}

IndexSpan parse_span(std::string_view text, int count, std::string_view what, std::string_view part,
                     const ListOption& option) {
  const std::string expected = valid_range(count, what) + ", written as 2, 0-3 or *";
  if (text == "*" || text == "all") {
    if (count <= 0) fail_list_part(option, part, " selects nothing", expected);
    return {0, count - 1};
  }
  const std::size_t dash = text.find('-', 1);
  const auto first = parse_integer(trim(text.substr(0, dash)));
  const auto last =
      dash == std::string_view::npos ? first : parse_integer(trim(text.substr(dash + 1)));
  if (!first || !last) {
    fail_list_part(option, part, " is not a number or a range of " + std::string(what) + "s",
                   expected);
  }
  if (*first < 0 || *last < 0 || *first >= count || *last >= count) {
    fail_list_part(option, part, " is out of range", expected);
  }
  if (*first > *last) fail_list_part(option, part, " runs backwards", expected);
  return {static_cast<int>(*first), static_cast<int>(*last)};
}

}  // namespace attnscope
