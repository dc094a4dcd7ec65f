#include "responder.h"

#include <charconv>

#include "attnscope/support/error.h"

namespace attnscope::serve {
namespace {

// The index in "/files/INDEX", written in the one way that files.json writes it.
std::optional<std::size_t> file_index(std::string_view path, std::size_t count) {
  static constexpr std::string_view kFolder = "/files/";
  if (!path.starts_with(kFolder)) return std::nullopt;
  const std::string_view digits = path.substr(kFolder.size());
  std::size_t index = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (index >= count || std::to_string(index) != digits) return std::nullopt;
  return index;
}

// A redirect would not do: browsers do not send a SameSite=Strict cookie along the redirects of a
// visit that began on another page. The script takes along what follows # in the address.
Answer way_in(std::string set_cookie) {
  return {.status = Status::ok,
          .type = "text/html; charset=utf-8",
          .fields = {{"Set-Cookie", std::move(set_cookie)}},
          .body =
              "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
              "<link rel=\"icon\" href=\"data:,\">\n<title>attnscope</title>\n"
              "<p><a href=\"/\">Open attnscope</a></p>\n<script>" +
              std::string(kOnward) + "</script>\n"};
}

// RFC 9110, 13.2.2: what the client has already comes first, then whether its pieces still fit.
Answer whole_or_part(const Request& request, std::shared_ptr<const DataFile> file) {
  Answer answer{.status = Status::ok,
                .type = "application/octet-stream",
                .fields = {{"ETag", file->etag()}, {"Accept-Ranges", "bytes"}},
                .body = {}};
  for (const std::string_view field : request.values("if-none-match")) {
    if (!matches_any(field, file->etag())) continue;
    answer.status = Status::not_modified;
    answer.type.clear();
    return answer;
  }
  const auto range_field = request.method == "GET" ? request.only_value("range") : std::nullopt;
  const bool fits = request.values("if-range").empty() ||
                    request.only_value("if-range") == std::string_view(file->etag());
  const std::uint64_t size = file->size();
  const ByteRange range = range_field && fits ? parse_range(*range_field, size) : ByteRange{};
  if (range.kind == ByteRange::Kind::beyond) {
    Answer refused = plain_page(Status::range_not_satisfiable);
    refused.fields = answer.fields;
    refused.fields.push_back({"Content-Range", "bytes */" + std::to_string(size)});
    return refused;
  }
  FilePart part{.file = std::move(file), .offset = 0, .bytes = size};
  if (range.kind == ByteRange::Kind::part) {
    answer.status = Status::partial_content;
    answer.fields.push_back({"Content-Range", "bytes " + std::to_string(range.first) + "-" +
                                                  std::to_string(range.last) + "/" +
                                                  std::to_string(size)});
    part.offset = range.first;
    part.bytes = range.last - range.first + 1;
  }
  answer.body = std::move(part);
  return answer;
}

}  // namespace

Responder::Responder(std::uint16_t port, std::span<const PageAsset> assets,
                     std::vector<std::string> files)
    : hosts_(allowed_hosts(port)), assets_(assets), files_(std::move(files)), access_(port) {}

Answer Responder::answer(const Request& request, Clock::time_point now) {
  if (const auto problem = body_problem(request)) return plain_page(*problem);
  const std::optional<Target> target = split_target(request.target);
  if (!host_is_allowed(request, hosts_)) return plain_page(Status::misdirected_request);
  if (request.method != "GET" && request.method != "HEAD") {
    Answer refused = plain_page(Status::method_not_allowed);
    refused.fields.push_back({"Allow", "GET, HEAD"});
    return refused;
  }
  if (!target) return plain_page(Status::bad_request);
  if (auto admitted = admission(request, *target, now)) return std::move(*admitted);
  if (auto refused = refusal(request, *target)) return std::move(*refused);
  return content(request, *target);
}

std::optional<Answer> Responder::admission(const Request& request, const Target& target,
                                           Clock::time_point now) {
  if (target.path != "/") return std::nullopt;
  const auto token = Access::token_of_query(target.query);
  if (!token) return std::nullopt;
  const auto use = request.method == "GET" ? Access::Use::spend : Access::Use::look;
  if (access_.accepts(*token, now, use)) return way_in(access_.set_cookie());
  return std::nullopt;
}

std::optional<Answer> Responder::refusal(const Request& request, const Target& target) const {
  if (!comes_from_own_page(request)) return plain_page(Status::forbidden);
  if (!access_.holds_cookie(request)) return plain_page(Status::unauthorized);
  // A wrong token is one of an earlier start, or a launch token that was used: the way back in a
  // browser that is in already.
  if (target.path == "/" && Access::token_of_query(target.query))
    return way_in(access_.set_cookie());
  return std::nullopt;
}

Answer Responder::content(const Request& request, const Target& target) const {
  const auto index = file_index(target.path, files_.count());
  const PageAsset* asset = nullptr;
  for (const PageAsset& one : assets_) {
    if (one.path == target.path) asset = &one;
  }
  const bool is_list = target.path == "/files.json";
  if (!index && asset == nullptr && !is_list) return plain_page(Status::not_found);
  if (!target.query.empty()) return plain_page(Status::bad_request);
  if (asset != nullptr) {
    return {
        .status = Status::ok, .type = std::string(asset->type), .fields = {}, .body = asset->bytes};
  }
  if (is_list) {
    return {
        .status = Status::ok, .type = "application/json", .fields = {}, .body = files_.list_json()};
  }
  return file_content(request, *index);
}

Answer Responder::file_content(const Request& request, std::size_t index) const {
  try {
    return whole_or_part(request, files_.open(index));
  } catch (const Error&) {
    // Why it cannot be opened stands in files.json.
    return plain_page(Status::not_found);
  }
}

}  // namespace attnscope::serve
