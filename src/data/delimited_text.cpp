#include "delimited_text.h"

#include <utility>

#include "line_checks.h"

namespace attnscope {

bool DelimitedText::next(std::vector<std::string>& fields, std::string& problem) {
  fields.clear();
  problem.clear();
  std::string line;
  do {
    if (!lines_.next(line)) return false;
    first_line_ = lines_.line_number();
  } while (line.empty() || line == "\r");

  const auto fail = [&](std::string what) {
    problem = std::move(what);
    fields.clear();
    return true;
  };
  std::size_t i = 0;
  while (true) {
    std::string field;
    if (i < line.size() && line[i] == '"') {
      ++i;
      while (true) {
        const std::size_t quote = line.find('"', i);
        if (quote == std::string::npos) {
          field.append(line, i);
          field += '\n';
          i = 0;
          if (!lines_.next(line)) return fail("a quoted field is never closed");
          continue;
        }
        field.append(line, i, quote - i);
        i = quote + 1;
        if (i >= line.size() || line[i] != '"') break;
        field += '"';
        ++i;
      }
      if (i + 1 == line.size() && line[i] == '\r') i = line.size();
      if (i < line.size() && line[i] != separator_) return fail("text after a closing quote");
    } else {
      const std::size_t end = std::min(line.find(separator_, i), line.size());
      field.assign(line, i, end - i);
      i = end;
      if (i == line.size()) drop_carriage_return(field);
    }
    fields.push_back(std::move(field));
    if (i >= line.size()) return true;
    ++i;
  }
}

}  // namespace attnscope
