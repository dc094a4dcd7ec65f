#include "console/wrap.h"

#include <unistd.h>

#include <algorithm>

#include "attnscope/render/label.h"
#include "attnscope/render/terminal.h"
#include "attnscope/support/text.h"

namespace attnscope::console {

// Longer lines are hard to read, however wide the terminal is.
constexpr int kWidest = 100;

int text_columns() {
  if (::isatty(STDOUT_FILENO) != 1) return 0;
  return std::min(terminal_style_of(STDOUT_FILENO).columns, kWidest);
}

std::vector<std::string> wrapped_lines(std::string_view line, int columns) {
  if (columns <= 0 || display_width(line) <= columns) return {std::string(line)};
  std::vector<std::string> lines(1);
  int width = 0;
  for (const std::string& word : split(line, ' ')) {
    const int more = display_width(word) + (lines.back().empty() ? 0 : 1);
    if (width + more > columns && !lines.back().empty()) {
      lines.emplace_back();
      width = 0;
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    width = display_width(lines.back());
  }
  return lines;
}

std::string wrapped(std::string_view text, int columns) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) {
    for (std::string& part : wrapped_lines(line, columns)) lines.push_back(std::move(part));
  }
  return join(lines, "\n");
}

}  // namespace attnscope::console
