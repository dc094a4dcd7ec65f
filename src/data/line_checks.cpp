#include "line_checks.h"

#include <algorithm>
#include <utility>

#include "attnscope/data/prompt_reader.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {

std::string suffix_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return {};
  return path.substr(dot);
}

std::string checked_text(std::string text, InvalidUtf8 policy) {
  const auto bad = first_invalid_utf8(text);
  if (!bad) return text;
  if (policy == InvalidUtf8::replace) return replace_invalid_utf8(text);
  throw BadLine{"not valid UTF-8 at byte " + std::to_string(*bad) +
                " of the line (--invalid-utf8 replace puts U+FFFD there)"};
}

std::vector<std::int64_t> parse_id_field(const std::string& name, std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  std::string spaced(rest);
  std::replace(spaced.begin(), spaced.end(), ',', ' ');
  std::vector<std::int64_t> ids;
  for (const std::string& part : split(spaced, ' ')) {
    if (part.empty()) continue;
    const auto id = parse_integer(part);
    if (!id || *id < 0) throw BadLine{"column " + name + ": not an id: " + quote(part)};
    ids.push_back(*id);
  }
  return ids;
}

bool next_row(DelimitedText& records, std::size_t columns, std::vector<std::string>& fields) {
  std::string problem;
  if (!records.next(fields, problem)) return false;
  if (!problem.empty()) throw BadLine{problem};
  if (fields.size() != columns) {
    throw BadLine{"expected " + std::to_string(columns) + " fields as in the header, got " +
                  std::to_string(fields.size())};
  }
  return true;
}

void drop_carriage_return(std::string& line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
}

}  // namespace attnscope
