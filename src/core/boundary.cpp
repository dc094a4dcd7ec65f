#include "attnscope/core/boundary.h"

#include <string>

#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

bool is_out_of_memory(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const std::string text = error.what_without_backtrace();
  return text.find("can't allocate memory") != std::string::npos ||
         text.find("not enough memory") != std::string::npos ||
         text.find("out of memory") != std::string::npos;  // the driver's, of pinned memory
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

void throw_library_error(std::string_view doing, const c10::Error& error) {
  const std::string line = escape_untrusted(first_line(error.what_without_backtrace()), 300);
  if (is_out_of_memory(error)) {
    throw Error(ErrorKind::limit, "CO30",
                {.where = std::string(doing),
                 .what = "out of memory",
                 .got = line,
                 .next = "use shorter prompts, a smaller --batch or fewer hooks"});
  }
  throw Error(ErrorKind::internal, "CO31",
              {.where = std::string(doing), .what = "LibTorch refused: " + line});
}

void throw_out_of_memory(std::string_view doing) {
  throw Error(ErrorKind::limit, "CO30",
              {.where = std::string(doing),
               .what = "out of memory",
               .next = "use shorter prompts, a smaller --batch or fewer hooks"});
}

}  // namespace attnscope
