// File: access.h
// Who has been let in: the token of the printed address, the token for the browser that the program
// starts itself, and the cookie that both are changed for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "request.h"

namespace attnscope::serve {

using Clock = std::chrono::steady_clock;

class Access {
 public:
  explicit Access(std::uint16_t port);

  const std::string& token() const { return token_; }
  // Other users of the machine can read the arguments of a process: the address that a browser is
  // started with is good once, and for a minute. Replaces an older one.
  const std::string& issue_launch_token(Clock::time_point now);

  // Whether `token` lets in; `spend` uses a launch token up.
  enum class Use { look, spend };
  bool accepts(std::string_view token, Clock::time_point now, Use use);
  // "token=HEX" → HEX.
  static std::optional<std::string_view> token_of_query(std::string_view query);

  bool holds_cookie(const Request& request) const;
  // The value of a Set-Cookie field.
  std::string set_cookie() const;

 private:
  std::string cookie_name_;
  std::string cookie_;
  std::string token_;
  std::string launch_token_;  // empty when there is none
  Clock::time_point launch_ends_;
};

}  // namespace attnscope::serve
