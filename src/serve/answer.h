// File: answer.h
// What is sent back, and how its head is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data_files.h"
#include "request.h"

namespace attnscope::serve {

// Bytes of a file that are read piece by piece while they are sent.
struct FilePart {
  std::shared_ptr<const DataFile> file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// Text of its own, bytes of the program, or bytes of a file.
using Body = std::variant<std::string, std::string_view, FilePart>;

struct Answer {
  Status status = Status::ok;
  std::string type;  // of the content; empty without content
  std::vector<Field> fields;
  Body body;
};

// The one script that a page holds itself: from the address with the token to the one without it.
// Every answer's policy names its hash.
inline constexpr std::string_view kOnward = "location.replace('/' + location.hash)";

std::uint64_t body_bytes(const Body& body);

enum class After { keep, close };

// Status line and fields, with those that every answer has: the policy of the page, no-store, and
// what keeps other origins and type guessing out.
std::string head_of(const Answer& answer, After after);

// A page with one sentence.
Answer plain_page(Status status);

}  // namespace attnscope::serve
