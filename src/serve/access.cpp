#include "access.h"

#include "rules.h"

namespace attnscope::serve {
namespace {

constexpr std::chrono::seconds kLaunchTime{60};

}  // namespace

Access::Access(std::uint16_t port)
    : cookie_name_("attnscope-" + std::to_string(port)),
      cookie_(random_token()),
      token_(random_token()) {}

const std::string& Access::issue_launch_token(Clock::time_point now) {
  launch_token_ = random_token();
  launch_ends_ = now + kLaunchTime;
  return launch_token_;
}

bool Access::accepts(std::string_view token, Clock::time_point now, Use use) {
  if (equal_in_constant_time(token, token_)) return true;
  if (launch_token_.empty() || now > launch_ends_) return false;
  if (!equal_in_constant_time(token, launch_token_)) return false;
  if (use == Use::spend) launch_token_.clear();
  return true;
}

std::optional<std::string_view> Access::token_of_query(std::string_view query) {
  static constexpr std::string_view kName = "token=";
  if (!query.starts_with(kName)) return std::nullopt;
  return query.substr(kName.size());
}

bool Access::holds_cookie(const Request& request) const {
  for (const std::string_view field : request.values("cookie")) {
    for (const std::string_view value : cookie_values(field, cookie_name_)) {
      if (equal_in_constant_time(value, cookie_)) return true;
    }
  }
  return false;
}

std::string Access::set_cookie() const {
  return cookie_name_ + "=" + cookie_ + "; HttpOnly; SameSite=Strict; Path=/";
}

}  // namespace attnscope::serve
