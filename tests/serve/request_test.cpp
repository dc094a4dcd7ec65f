// From received bytes to a request, and every way in which they are none.
#include "request.h"

#include <gtest/gtest.h>

#include <string>

using namespace attnscope::serve;  // NOLINT

namespace {

using State = HeadEnd::State;

// What find_head_end says of all of `bytes`, after checking that it does not depend on how they
// come: what is refused or complete early must stay so.
HeadEnd end_of(const std::string& bytes) {
  const HeadEnd all = find_head_end(bytes);
  for (std::size_t n = 0; n < bytes.size(); n += 1 + n / 16) {
    const HeadEnd early = find_head_end(std::string_view(bytes).substr(0, n));
    if (early.state == State::incomplete) continue;
    EXPECT_EQ(early.state, all.state);
    EXPECT_EQ(early.bytes, all.bytes);
    EXPECT_EQ(early.status, all.status);
  }
  return all;
}

std::string line_of(std::size_t bytes) {
  const std::string frame = "GET / HTTP/1.1\r\n";
  return "GET /" + std::string(bytes - frame.size(), 'a') + " HTTP/1.1\r\n";
}

std::string fields_of(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "X: y\r\n";
  return text;
}

std::optional<Status> body_status(const std::string& fields, const char* version = "1.1") {
  const auto request =
      parse_head("POST / HTTP/" + std::string(version) + "\r\nHost: x\r\n" + fields + "\r\n");
  return request ? body_problem(*request) : std::optional(Status::bad_request);
}

}  // namespace

TEST(HeadEnds, AtTheEmptyLine) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const HeadEnd end = end_of(head + "GET /next");
  EXPECT_EQ(end.state, State::complete);
  EXPECT_EQ(end.bytes, head.size());
  EXPECT_EQ(end_of("GET / HTTP/1.0\r\n\r\n").bytes, 18U);
  for (const char* part : {"", "G", "GET / HTTP/1.1", "GET / HTTP/1.1\r", "GET / HTTP/1.1\r\n",
                           "GET / HTTP/1.1\r\nHost: x\r\n\r"}) {
    EXPECT_EQ(end_of(part).state, State::incomplete) << part;
  }
}

TEST(HeadEnds, NeverAtABareLineFeed) {
  for (const char* bytes : {"\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nHost: x\n",
                            "GET / HTTP/1.1\r\nHost: x\r\n\n", "\r\n"}) {
    const HeadEnd end = end_of(bytes);
    EXPECT_EQ(end.state, State::refused) << bytes;
    EXPECT_EQ(end.status, Status::bad_request) << bytes;
  }
}

TEST(HeadEnds, LongRequestLines) {
  EXPECT_EQ(end_of(line_of(kMaxRequestLine) + "\r\n").state, State::complete);
  for (const std::string& bytes :
       {line_of(kMaxRequestLine + 1), std::string(kMaxRequestLine + 1, 'a')}) {
    EXPECT_EQ(end_of(bytes).state, State::refused);
    EXPECT_EQ(end_of(bytes).status, Status::uri_too_long);
  }
}

TEST(HeadEnds, ManyFields) {
  EXPECT_EQ(end_of(line_of(20) + fields_of(kMaxFields) + "\r\n").state, State::complete);
  const HeadEnd over = end_of(line_of(20) + fields_of(kMaxFields + 1));
  EXPECT_EQ(over.state, State::refused);
  EXPECT_EQ(over.status, Status::header_fields_too_large);
}

TEST(HeadEnds, LongFields) {
  const std::string fits = "X: " + std::string(kMaxFieldBytes - 7, 'a') + "\r\n\r\n";
  ASSERT_EQ(fits.size(), kMaxFieldBytes);
  EXPECT_EQ(end_of(line_of(20) + fits).state, State::complete);
  for (const std::string& bytes : {"X" + fits, "X: " + std::string(200'000, 'a')}) {
    EXPECT_EQ(end_of(line_of(20) + bytes).state, State::refused);
    EXPECT_EQ(end_of(line_of(20) + bytes).status, Status::header_fields_too_large);
  }
}

TEST(Heads, KeepTargetAndFieldsAsTheyCame) {
  const auto request =
      parse_head("GET /%2e%2e/a?b HTTP/1.1\r\nHost:  x \r\nCookie: a\r\nCOOKIE: b\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->target, "/%2e%2e/a?b");
  EXPECT_EQ(request->version, 11);
  EXPECT_EQ(request->only_value("host"), "x");
  EXPECT_EQ(request->values("cookie"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_FALSE(request->only_value("cookie"));
  EXPECT_FALSE(request->has_body());
  EXPECT_EQ(parse_head("X-Y / HTTP/1.0\r\n\r\n")->method, "X-Y");
  EXPECT_EQ(parse_head("GET / HTTP/1.0\r\n\r\n")->version, 10);
}

TEST(Heads, SayWhetherTheConnectionEnds) {
  const auto ends = [](const std::string& rest) {
    return parse_head("GET / HTTP/1." + rest + "\r\n\r\n")->ends_connection();
  };
  for (const char* rest :
       {"1\r\nConnection: close", "1\r\nConnection: Close", "1\r\nConnection: keep-alive, CLOSE",
        "1\r\nConnection: x\r\nConnection: close", "0", "0\r\nConnection: keep-alive"}) {
    EXPECT_TRUE(ends(rest)) << rest;
  }
  for (const char* rest :
       {"1", "1\r\nConnection: keep-alive", "1\r\nConnection: closed", "1\r\nX: close"}) {
    EXPECT_FALSE(ends(rest)) << rest;
  }
}

TEST(Heads, LongestOnesAreParsed) {
  const std::string field = "X: " + std::string(kMaxFieldBytes - 7, 'a') + "\r\n\r\n";
  EXPECT_TRUE(parse_head(line_of(kMaxRequestLine) + field));
}

TEST(Heads, ThatAreNone) {
  for (const char* bytes :
       {"GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/2.0\r\n\r\n",
        "GET / HTTP/0.9\r\n\r\n", "GET / HTTP/1.2\r\n\r\n", "GET / http/1.1\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n", "G\x01T / HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost x\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "GET / HTTP/1.1\r\nA: b\x01\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n"}) {
    EXPECT_FALSE(parse_head(bytes)) << bytes;
  }
}

TEST(Bodies, AreSmallAndOfKnownLength) {
  EXPECT_EQ(body_status(""), std::nullopt);
  EXPECT_EQ(body_status("Content-Length: 0\r\n"), std::nullopt);
  EXPECT_EQ(body_status("Content-Length: 65536\r\n"), std::nullopt);
  EXPECT_EQ(body_status("Content-Length: 65537\r\n"), Status::content_too_large);
  EXPECT_EQ(body_status("Content-Length: 9223372036854775807\r\n"), Status::content_too_large);
  EXPECT_EQ(body_status("Transfer-Encoding: chunked\r\n"), Status::length_required);
  EXPECT_EQ(body_status("Transfer-Encoding: gzip\r\n"), Status::length_required);
  EXPECT_EQ(body_status("Transfer-Encoding: chunked\r\n", "1.0"), Status::bad_request);
  for (const char* both : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                           "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                           "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"}) {
    EXPECT_EQ(body_status(both), Status::bad_request) << both;
  }
}
