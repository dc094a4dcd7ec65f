// The viewer's server: any bytes against every rule that is looked at before content is given.
#include <array>
#include <string>
#include <string_view>

#include "responder.h"
#include "rules.h"
#include "target.h"

using namespace attnscope::serve;  // NOLINT
using attnscope::fuzz::as_text;
using attnscope::fuzz::check;

namespace {

constexpr std::array<PageAsset, 1> kAssets{{{"/", "text/html", "page"}}};
constexpr std::uint16_t kPort = 8765;

// More bytes never turn a decision around.
HeadEnd check_head_end(std::string_view received) {
  const HeadEnd end = find_head_end(received);
  const HeadEnd half = find_head_end(received.substr(0, received.size() / 2));
  check(half.state == HeadEnd::State::incomplete || half.state == end.state,
        "a head whose end depends on how it comes");
  check(end.state != HeadEnd::State::complete || end.bytes <= received.size(),
        "a head that is longer than what came");
  check(end.state != HeadEnd::State::incomplete ||
            received.size() <= kMaxRequestLine + kMaxFieldBytes,
        "a head without end");
  return end;
}

// Nobody without the cookie gets anything, and nothing of a request comes back.
void check_answer(const Request& request) {
  static Responder responder(kPort, kAssets, {ATTNSCOPE_SOURCE_DIR "/LICENSE"});
  const Answer answer = responder.answer(request, Clock::now());
  check(answer.status != Status::ok && answer.status != Status::partial_content,
        "content for somebody without the cookie");
  const std::string head = head_of(answer, After::close);
  check(head.find("Access-Control") == std::string::npos, "a CORS field");
  check(head.find("Content-Security-Policy: default-src 'self'") != std::string::npos,
        "an answer without the policy");
  check(head.find("\r\n\r\n") == head.size() - 4, "a head that ends early");
}

// With the cookie: the file or an error, and never more than the file has.
void check_content(Request request) {
  static Responder responder(kPort, kAssets, {ATTNSCOPE_SOURCE_DIR "/LICENSE"});
  const std::string cookie = responder.access().set_cookie();
  request.target = "/files/0";
  std::erase_if(request.fields, [](const Field& field) { return field.name == "host"; });
  request.fields.push_back({"host", "localhost:8765"});
  request.fields.push_back({"cookie", cookie.substr(0, cookie.find(';'))});
  const Answer answer = responder.answer(request, Clock::now());
  if (const auto* part = std::get_if<FilePart>(&answer.body)) {
    check(part->bytes <= part->file->size() && part->offset <= part->file->size() - part->bytes,
          "bytes that are not in the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const HeadEnd end = check_head_end(text);
  for (const std::uint64_t bytes : {0ULL, 1ULL, 10ULL, ~0ULL}) {
    const ByteRange range = parse_range(text, bytes);
    check(range.kind != ByteRange::Kind::part || (range.first <= range.last && range.last < bytes),
          "a range outside of the file");
  }
  if (end.state != HeadEnd::State::complete) return 0;
  const auto request = parse_head(text.substr(0, end.bytes));
  if (!request) return 0;
  check_answer(*request);
  check_content(*request);
  return 0;
}
