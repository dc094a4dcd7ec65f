// File: request.h
// A request as it came, before anything is decided about it. Everything here is a function of the
// bytes received; Beast does the parsing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "status.h"

namespace attnscope::serve {

inline constexpr std::size_t kMaxRequestLine = 8U << 10U;
inline constexpr std::size_t kMaxFieldBytes = 16U << 10U;  // all header fields together
inline constexpr std::size_t kMaxFields = 64;
inline constexpr std::size_t kMaxBody = 64U << 10U;

// Where the head of a request ends: the request line, the fields and the empty line.
struct HeadEnd {
  enum class State { incomplete, complete, refused };
  State state = State::incomplete;
  std::size_t bytes = 0;                // complete: of the head
  Status status = Status::bad_request;  // refused: how to answer
};

// Looks at all bytes received of one request so far. What is over a limit is refused as soon as it
// is seen, not when the head ends. A line must end in CR LF.
HeadEnd find_head_end(std::string_view received);

struct Field {
  std::string name;  // in lower case
  std::string value;
};

struct Request {
  std::string method;
  std::string target;
  int version = 11;  // HTTP/1.1; 10 = HTTP/1.0
  std::vector<Field> fields;

  // Values of all fields of this name.
  std::vector<std::string_view> values(std::string_view name) const;
  // Nothing unless there is exactly one.
  std::optional<std::string_view> only_value(std::string_view name) const;
  bool has_body() const;
  // Whether the client wants no further answer on this connection.
  bool ends_connection() const;
};

// Nothing if `head`, which find_head_end() found complete, is no HTTP/1 request.
std::optional<Request> parse_head(std::string_view head);

// A body that this server would not take: 413 above the limit, 411 without a length, 400 with two
// lengths. Nothing else is wrong with a request that has a body; it is not read.
std::optional<Status> body_problem(const Request& request);

}  // namespace attnscope::serve
