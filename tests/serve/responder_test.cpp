// The order of the checks and the answers, without sockets.
#include "responder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "testing/temp_folder.h"

using namespace attnscope::serve;    // NOLINT
using namespace attnscope::testing;  // NOLINT

namespace {

constexpr std::array<PageAsset, 2> kAssets{
    {{"/", "text/html; charset=utf-8", "<page>"}, {"/app.js", "text/javascript", "code"}}};

struct Asked {
  std::string method = "GET";
  std::string target = "/";
  std::vector<Field> fields;
  bool host = true;
  bool cookie = true;
};

class ResponderTest : public ::testing::Test {
 protected:
  ResponderTest() : path_(folder_.path() + "/run.h5") {
    std::ofstream(path_) << "0123456789";
    responder_.emplace(8765, kAssets, std::vector{path_, folder_.path() + "/gone.h5"});
  }

  Answer ask(Asked asked) {
    Request request{.method = asked.method, .target = asked.target, .version = 11, .fields = {}};
    if (asked.host) request.fields.push_back({"host", "127.0.0.1:8765"});
    if (asked.cookie) {
      const std::string cookie = responder_->access().set_cookie();
      request.fields.push_back({"cookie", cookie.substr(0, cookie.find(';'))});
    }
    for (const Field& field : asked.fields) request.fields.push_back(field);
    return responder_->answer(request, Clock::now());
  }
  Status status(Asked asked) { return ask(std::move(asked)).status; }
  std::string token_target() { return "/?token=" + responder_->access().token(); }

  static std::string field(const Answer& answer, const std::string& name) {
    for (const Field& one : answer.fields) {
      if (one.name == name) return one.value;
    }
    return "";
  }
  static std::string bytes_of(const Answer& answer) {
    const auto& part = std::get<FilePart>(answer.body);
    std::string bytes(part.bytes, '\0');
    bytes.resize(part.file->read(part.offset, bytes.data(), bytes.size()));
    return bytes;
  }

  TempFolder folder_;
  std::string path_;
  std::optional<Responder> responder_;
};

}  // namespace

TEST_F(ResponderTest, GivesThePageAndTheFilesToWhoHasTheCookie) {
  const Answer page = ask({});
  EXPECT_EQ(page.status, Status::ok);
  EXPECT_EQ(std::get<std::string_view>(page.body), "<page>");
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_EQ(ask({.target = "/app.js"}).type, "text/javascript");
  EXPECT_EQ(ask({.target = "/files.json"}).type, "application/json");
  const Answer file = ask({.target = "/files/0"});
  EXPECT_EQ(file.status, Status::ok);
  EXPECT_EQ(bytes_of(file), "0123456789");
  EXPECT_EQ(field(file, "Accept-Ranges"), "bytes");
  EXPECT_EQ(status({.target = "/files/1"}), Status::not_found);
}

TEST_F(ResponderTest, ChecksInTheOrderOfTheReadme) {
  const Field chunked{"transfer-encoding", "chunked"};
  const Field foreign{"origin", "http://evil.example"};
  // Each request breaks one rule less than the one before.
  Asked asked{.method = "POST",
              .target = "*",
              .fields = {chunked, foreign},
              .host = false,
              .cookie = false};
  EXPECT_EQ(status(asked), Status::length_required);
  asked.fields = {foreign};
  EXPECT_EQ(status(asked), Status::misdirected_request);
  asked.host = true;
  EXPECT_EQ(status(asked), Status::method_not_allowed);
  EXPECT_EQ(field(ask(asked), "Allow"), "GET, HEAD");
  asked.method = "GET";
  EXPECT_EQ(status(asked), Status::bad_request);
  asked.target = "/nowhere?x=1";
  EXPECT_EQ(status(asked), Status::forbidden);
  asked.fields = {};
  EXPECT_EQ(status(asked), Status::unauthorized);
  asked.cookie = true;
  EXPECT_EQ(status(asked), Status::not_found);
  asked.target = "/?x=1";
  EXPECT_EQ(status(asked), Status::bad_request);
  asked.target = "/";
  EXPECT_EQ(status(asked), Status::ok);
}

TEST_F(ResponderTest, TheTokenLetsInFromAnywhere) {
  const std::vector<Field> link{{"sec-fetch-site", "cross-site"}};
  const Answer admitted = ask({.target = token_target(), .fields = link, .cookie = false});
  EXPECT_EQ(admitted.status, Status::ok);
  EXPECT_EQ(field(admitted, "Set-Cookie"), responder_->access().set_cookie());
  const std::string page = std::get<std::string>(admitted.body);
  EXPECT_NE(page.find("<script>" + std::string(kOnward) + "</script>"), std::string::npos);
  EXPECT_EQ(page.find(responder_->access().token()), std::string::npos);
}

TEST_F(ResponderTest, AWrongTokenDoesNot) {
  for (const char* target : {"/?token=", "/?token=00000000000000000000000000000000", "/"}) {
    const Answer answer = ask({.target = target, .cookie = false});
    EXPECT_EQ(answer.status, Status::unauthorized) << target;
    EXPECT_EQ(field(answer, "Set-Cookie"), "");
    EXPECT_NE(std::get<std::string>(answer.body).find("printed in the terminal"),
              std::string::npos);
  }
  EXPECT_EQ(status({.target = "/app.js?token=" + responder_->access().token(), .cookie = false}),
            Status::unauthorized);
  EXPECT_EQ(status({.target = token_target() + "&x=1", .cookie = false}), Status::unauthorized);
  EXPECT_EQ(status({.target = token_target(), .host = false, .cookie = false}),
            Status::misdirected_request);
}

TEST_F(ResponderTest, AUsedLaunchTokenLeadsOnWhoIsIn) {
  const std::string target = "/?token=" + responder_->access().issue_launch_token(Clock::now());
  // A look ahead with HEAD does not use it up.
  EXPECT_EQ(status({.method = "HEAD", .target = target, .cookie = false}), Status::ok);
  EXPECT_EQ(status({.target = target, .cookie = false}), Status::ok);
  EXPECT_EQ(status({.target = target, .cookie = false}), Status::unauthorized);
  const Answer again = ask({.target = target});
  EXPECT_EQ(again.status, Status::ok);
  EXPECT_NE(std::get<std::string>(again.body).find(kOnward), std::string::npos);
}

TEST_F(ResponderTest, KnowsNoOtherPath) {
  for (const char* target : {"/../",
                             "/..",
                             "/%2e%2e/",
                             "/%252e%252e/",
                             "/..\\",
                             "//etc/passwd",
                             "/%00",
                             "/app.js%00.html",
                             "/./app.js",
                             "/app.js/",
                             "//app.js",
                             "/APP.JS",
                             "/index.html",
                             "/files",
                             "/files/",
                             "/files/2",
                             "/files/00",
                             "/files/+0",
                             "/files/-1",
                             "/files/0x0",
                             "/files/0/",
                             "/files/ 0",
                             "/files/0%00",
                             "/files/18446744073709551616",
                             "/files/../files/0",
                             "/favicon.ico",
                             "/run.h5",
                             "/files.json/"}) {
    EXPECT_EQ(status({.target = target}), Status::not_found) << target;
  }
}

TEST_F(ResponderTest, QueriesAreRefused) {
  for (const char* target : {"/?x=1", "/app.js?v=2", "/files.json?a", "/files/0?rows=0-1e9",
                             "/files/0?offset=-1", "/files/0?x=NaN"}) {
    EXPECT_EQ(status({.target = target}), Status::bad_request) << target;
  }
}

TEST_F(ResponderTest, OneRangeIsAPart) {
  const Answer part = ask({.target = "/files/0", .fields = {{"range", "bytes=2-4"}}});
  EXPECT_EQ(part.status, Status::partial_content);
  EXPECT_EQ(field(part, "Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(bytes_of(part), "234");
  const Answer beyond = ask({.target = "/files/0", .fields = {{"range", "bytes=10-"}}});
  EXPECT_EQ(beyond.status, Status::range_not_satisfiable);
  EXPECT_EQ(field(beyond, "Content-Range"), "bytes */10");
  // Two fields, several ranges, and HEAD, for which RFC 9110 defines none: the whole file.
  for (const Asked& asked : {Asked{.fields = {{"range", "bytes=0-1"}, {"range", "bytes=3-4"}}},
                             Asked{.fields = {{"range", "bytes=0-1,3-4"}}},
                             Asked{.method = "HEAD", .fields = {{"range", "bytes=0-1"}}}}) {
    Asked whole = asked;
    whole.target = "/files/0";
    EXPECT_EQ(status(whole), Status::ok);
    EXPECT_EQ(body_bytes(ask(whole).body), 10U);
  }
}

TEST_F(ResponderTest, ARangeOfAnOlderFileIsTheWholeNewOne) {
  const std::string etag = field(ask({.target = "/files/0"}), "ETag");
  const auto part = [&](const std::string& if_range) {
    return status(
        {.target = "/files/0", .fields = {{"range", "bytes=2-4"}, {"if-range", if_range}}});
  };
  EXPECT_EQ(part(etag), Status::partial_content);
  EXPECT_EQ(part("W/" + etag), Status::ok);
  EXPECT_EQ(part("\"other\""), Status::ok);
  EXPECT_EQ(part("Sat, 29 Oct 1994 19:43:31 GMT"), Status::ok);
  std::ofstream(path_) << "9876543210!";
  EXPECT_EQ(part(etag), Status::ok);
  EXPECT_NE(field(ask({.target = "/files/0"}), "ETag"), etag);
}

TEST_F(ResponderTest, WhatIsKnownIsNotSentAgain) {
  const std::string etag = field(ask({.target = "/files/0"}), "ETag");
  const Answer same = ask({.target = "/files/0", .fields = {{"if-none-match", etag}}});
  EXPECT_EQ(same.status, Status::not_modified);
  EXPECT_EQ(field(same, "ETag"), etag);
  EXPECT_EQ(status({.target = "/files/0", .fields = {{"if-none-match", "\"other\""}}}), Status::ok);
  EXPECT_EQ(
      status({.target = "/files/0", .fields = {{"if-none-match", etag}, {"range", "bytes=0-1"}}}),
      Status::not_modified);
}

TEST_F(ResponderTest, EveryAnswerIsGuarded) {
  for (const Asked& asked :
       {Asked{}, Asked{.target = "/files/0"}, Asked{.target = "/x"}, Asked{.method = "PUT"},
        Asked{.host = false}, Asked{.cookie = false}, Asked{.target = token_target()},
        Asked{.target = "/files/0", .fields = {{"range", "bytes=99-"}}},
        Asked{.fields = {{"origin", "null"}}}}) {
    const std::string head = head_of(ask(asked), After::keep);
    for (const char* line :
         {"Content-Security-Policy: default-src 'self'; script-src 'self' 'wasm-unsafe-eval' "
          "'sha256-0yMeKivUAEocyfVCJVDG8BNp1MhIsXppRG0eC6pKPvQ='; "
          "worker-src 'self' blob:; img-src 'self' blob: data:; object-src 'none'; base-uri "
          "'none'; frame-ancestors 'none'; form-action 'none'\r\n",
          "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
          "Cross-Origin-Resource-Policy: same-origin\r\n",
          "Cross-Origin-Opener-Policy: same-origin\r\n", "Cache-Control: no-store\r\n"}) {
      EXPECT_NE(head.find(line), std::string::npos) << head;
    }
    EXPECT_EQ(head.find("Access-Control"), std::string::npos);
    EXPECT_EQ(head.find(responder_->access().token()), std::string::npos);
    EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  }
}
