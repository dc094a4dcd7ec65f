// File: rules.h
// Who may ask, and for which bytes: each rule as a function of what it looks at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "request.h"

namespace attnscope::serve {

// The names under which a browser on this machine reaches `port`, as a Host field has them.
std::vector<std::string> allowed_hosts(std::uint16_t port);

// Exactly one Host field with one of these names. A page of another site that points its own name
// at 127.0.0.1 (DNS rebinding) sends that name.
bool host_is_allowed(const Request& request, const std::vector<std::string>& hosts);

// No page of another origin asks: Origin, where there is one, is that of Host, and Sec-Fetch-Site,
// which browsers add and pages cannot change, is same-origin or that of an address typed by hand.
bool comes_from_own_page(const Request& request);

// The values of the cookies of this name in a Cookie field. Cookies are shared by all ports of a
// host, so that another server may have set one of the same name.
std::vector<std::string_view> cookie_values(std::string_view cookie_field, std::string_view name);

// In a time that depends on the lengths only.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// 128 bits from the kernel, in hex.
std::string random_token();

// The two parts of a target; nothing unless it is a path.
struct Target {
  std::string_view path;
  std::string_view query;  // without the question mark
};
std::optional<Target> split_target(std::string_view target);

// Which bytes of a file of `size` bytes a Range field asks for.
struct ByteRange {
  enum class Kind {
    whole,  // none, several, or not understood: the whole file is right then
    part,
    beyond,  // not in the file: 416
  };
  Kind kind = Kind::whole;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool operator==(const ByteRange&) const = default;
};
ByteRange parse_range(std::string_view field, std::uint64_t size);

// Whether an If-None-Match field names `etag`.
bool matches_any(std::string_view field, std::string_view etag);

}  // namespace attnscope::serve
