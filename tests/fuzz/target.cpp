#include "target.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "attnscope/support/utf8.h"

namespace attnscope::fuzz {

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

void check_refusal(const Error& error) {
  const std::string message = error.what();
  check(error.kind() == ErrorKind::input || error.kind() == ErrorKind::limit,
        ("an error that is not about the input: " + message).c_str());
  check(!first_invalid_utf8(message), "a message that is not UTF-8");
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    check(byte >= 0x20 && byte != 0x7F, "a control character in a message");
  }
  check(message.size() < 16384, "a message that is far too long");
}

}  // namespace attnscope::fuzz
