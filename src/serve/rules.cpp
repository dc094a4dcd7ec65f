#include "rules.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope::serve {
namespace {

constexpr std::uint16_t kHttpPort = 80;

bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// Digits only, and within 64 bits.
std::optional<std::uint64_t> parse_offset(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

ByteRange last_bytes(std::uint64_t count, std::uint64_t size) {
  if (count == 0 || size == 0) return {.kind = ByteRange::Kind::beyond};
  return {
      .kind = ByteRange::Kind::part, .first = count < size ? size - count : 0, .last = size - 1};
}

}  // namespace

std::vector<std::string> allowed_hosts(std::uint16_t port) {
  std::vector<std::string> hosts;
  for (const char* name : {"127.0.0.1", "localhost", "[::1]"}) {
    hosts.push_back(name + (":" + std::to_string(port)));
    if (port == kHttpPort) hosts.emplace_back(name);
  }
  return hosts;
}

bool host_is_allowed(const Request& request, const std::vector<std::string>& hosts) {
  const auto host = request.only_value("host");
  return host && std::any_of(hosts.begin(), hosts.end(), [&](const std::string& allowed) {
           return equal_without_case(*host, allowed);
         });
}

bool comes_from_own_page(const Request& request) {
  const std::string own = "http://" + std::string(request.only_value("host").value_or(""));
  for (const std::string_view origin : request.values("origin")) {
    if (!equal_without_case(origin, own)) return false;
  }
  for (const std::string_view site : request.values("sec-fetch-site")) {
    if (site != "same-origin" && site != "none") return false;
  }
  return true;
}

std::vector<std::string_view> cookie_values(std::string_view cookie_field, std::string_view name) {
  std::vector<std::string_view> out;
  while (!cookie_field.empty()) {
    const std::size_t end = std::min(cookie_field.find(';'), cookie_field.size());
    const std::string_view pair = trim(cookie_field.substr(0, end));
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
      out.push_back(pair.substr(equals + 1));
    }
    cookie_field.remove_prefix(std::min(end + 1, cookie_field.size()));
  }
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (n < 0 && errno != EINTR) {
      throw Error(
          ErrorKind::output, "HT01",
          {.where = "view",
           .what = std::string("no random numbers from the kernel: ") + std::strerror(errno)});
    }
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  static constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return hex;
}

std::optional<Target> split_target(std::string_view target) {
  if (!target.starts_with('/')) return std::nullopt;
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return Target{.path = target, .query = {}};
  return Target{.path = target.substr(0, mark), .query = target.substr(mark + 1)};
}

ByteRange parse_range(std::string_view field, std::uint64_t size) {
  static constexpr std::string_view kUnit = "bytes=";
  if (!equal_without_case(field.substr(0, kUnit.size()), kUnit)) return {};
  const std::string_view range = trim(field.substr(kUnit.size()));
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view before = range.substr(0, dash);
  const std::string_view after = range.substr(dash + 1);
  const auto first = parse_offset(before);
  const auto last = parse_offset(after);
  if (before.empty()) return last ? last_bytes(*last, size) : ByteRange{};
  if (!first || (!last && !after.empty())) return {};
  if (*first >= size || (last && *last < *first)) return {.kind = ByteRange::Kind::beyond};
  return {.kind = ByteRange::Kind::part,
          .first = *first,
          .last = last ? std::min(*last, size - 1) : size - 1};
}

bool matches_any(std::string_view field, std::string_view etag) {
  for (const std::string& part : split(field, ',')) {
    std::string_view tag = trim(part);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == etag || tag == "*") return true;
  }
  return false;
}

}  // namespace attnscope::serve
