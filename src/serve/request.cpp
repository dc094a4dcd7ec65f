#include "request.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "attnscope/support/text.h"

namespace attnscope::serve {
namespace {

namespace http = boost::beast::http;

HeadEnd refused(Status status) {
  return {.state = HeadEnd::State::refused, .status = status};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string text_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

HeadEnd find_head_end(std::string_view received) {
  std::size_t line = 0;  // where the current one begins
  std::size_t lines = 0;
  std::size_t fields_begin = 0;
  while (true) {
    const std::size_t newline = received.find('\n', line);
    const bool ended = newline != std::string_view::npos;
    const std::size_t end = ended ? newline + 1 : received.size();
    if (lines == 0 && end > kMaxRequestLine) return refused(Status::uri_too_long);
    if (lines > 0 && end - fields_begin > kMaxFieldBytes) {
      return refused(Status::header_fields_too_large);
    }
    if (!ended) return {};
    if (newline == line || received[newline - 1] != '\r') return refused(Status::bad_request);
    const bool empty = newline == line + 1;
    if (empty && lines == 0) return refused(Status::bad_request);
    if (empty) return {.state = HeadEnd::State::complete, .bytes = end};
    if (++lines > kMaxFields + 1) return refused(Status::header_fields_too_large);
    line = end;
    if (lines == 1) fields_begin = end;
  }
}

std::vector<std::string_view> Request::values(std::string_view name) const {
  std::vector<std::string_view> out;
  for (const Field& field : fields) {
    if (field.name == name) out.emplace_back(field.value);
  }
  return out;
}

std::optional<std::string_view> Request::only_value(std::string_view name) const {
  const std::vector<std::string_view> all = values(name);
  return all.size() == 1 ? std::optional(all.front()) : std::nullopt;
}

bool Request::has_body() const {
  const auto length = only_value("content-length");
  return !values("transfer-encoding").empty() || (length && *length != "0");
}

bool Request::ends_connection() const {
  for (const std::string_view value : values("connection")) {
    for (const std::string& option : split(value, ',')) {
      if (lower(trim(option)) == "close") return true;
    }
  }
  return version < 11;
}

std::optional<Request> parse_head(std::string_view head) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(kMaxRequestLine + kMaxFieldBytes));
  parser.body_limit(boost::none);
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (error || !parser.is_header_done()) return std::nullopt;
  const auto& message = parser.get();
  Request request{.method = text_of(message.method_string()),
                  .target = text_of(message.target()),
                  .version = static_cast<int>(message.version()),
                  .fields = {}};
  for (const auto& field : message) {
    request.fields.push_back({lower(text_of(field.name_string())), text_of(field.value())});
  }
  return request;
}

std::optional<Status> body_problem(const Request& request) {
  const bool has_length = !request.values("content-length").empty();
  if (!request.values("transfer-encoding").empty()) {
    return has_length || request.version < 11 ? Status::bad_request : Status::length_required;
  }
  if (!has_length) return std::nullopt;
  const auto length = request.only_value("content-length");
  const auto bytes = length ? parse_integer(*length) : std::nullopt;
  if (!bytes || *bytes < 0) return Status::bad_request;
  if (*bytes > static_cast<std::int64_t>(kMaxBody)) return Status::content_too_large;
  return std::nullopt;
}

}  // namespace attnscope::serve
