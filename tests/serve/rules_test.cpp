// The rules of reliability: who may ask, and for which bytes.
#include "rules.h"

#include <gtest/gtest.h>

#include <set>

using namespace attnscope::serve;  // NOLINT

namespace {

Request with_fields(std::vector<Field> fields) {
  return {.method = "GET", .target = "/", .version = 11, .fields = std::move(fields)};
}

using Kind = ByteRange::Kind;

}  // namespace

TEST(Hosts, OnlyTheNamesOfThisMachineWithThePort) {
  const auto hosts = allowed_hosts(8765);
  for (const char* host : {"127.0.0.1:8765", "localhost:8765", "LocalHost:8765", "[::1]:8765"}) {
    EXPECT_TRUE(host_is_allowed(with_fields({{"host", host}}), hosts)) << host;
  }
  for (const char* host : {"evil.example",
                           "evil.example:8765",
                           "127.0.0.1",
                           "127.0.0.1:80",
                           "127.0.0.1:08765",
                           "127.0.0.1.:8765",
                           "localhost.:8765",
                           "localhost",
                           "127.1:8765",
                           "2130706433:8765",
                           "0x7f000001:8765",
                           "127.0.0.2:8765",
                           "0.0.0.0:8765",
                           "[::]:8765",
                           "[::ffff:127.0.0.1]:8765",
                           "[0:0:0:0:0:0:0:1]:8765",
                           "::1:8765",
                           "user@127.0.0.1:8765",
                           "127.0.0.1:8765,evil.example",
                           "localhost:8765.evil.example",
                           ""}) {
    EXPECT_FALSE(host_is_allowed(with_fields({{"host", host}}), hosts)) << host;
  }
}

TEST(Hosts, ExactlyOneField) {
  const auto hosts = allowed_hosts(8765);
  EXPECT_FALSE(host_is_allowed(with_fields({}), hosts));
  EXPECT_FALSE(host_is_allowed(
      with_fields({{"host", "localhost:8765"}, {"host", "localhost:8765"}}), hosts));
}

TEST(Hosts, BrowsersLeaveOutThePortOfHttp) {
  EXPECT_TRUE(host_is_allowed(with_fields({{"host", "127.0.0.1"}}), allowed_hosts(80)));
  EXPECT_FALSE(host_is_allowed(with_fields({{"host", "127.0.0.1"}}), allowed_hosts(8080)));
}

TEST(Origins, OfThisPageOrNone) {
  const Field host{"host", "127.0.0.1:8765"};
  EXPECT_TRUE(comes_from_own_page(with_fields({host})));
  EXPECT_TRUE(comes_from_own_page(with_fields({host, {"origin", "http://127.0.0.1:8765"}})));
  for (const char* origin : {"null", "http://evil.example", "https://127.0.0.1:8765",
                             "http://127.0.0.1", "http://127.0.0.1:87650", "http://localhost:8765",
                             "http://127.0.0.1:8765/", "http://127.0.0.1:8765.evil.example", ""}) {
    EXPECT_FALSE(comes_from_own_page(with_fields({host, {"origin", origin}}))) << origin;
  }
  EXPECT_FALSE(comes_from_own_page(
      with_fields({host, {"origin", "http://127.0.0.1:8765"}, {"origin", "null"}})));
}

TEST(Origins, OfASiteThatTheBrowserSays) {
  for (const char* site : {"same-origin", "none"}) {
    EXPECT_TRUE(comes_from_own_page(with_fields({{"sec-fetch-site", site}}))) << site;
  }
  for (const char* site : {"cross-site", "same-site", "", "Same-Origin", "other"}) {
    EXPECT_FALSE(comes_from_own_page(with_fields({{"sec-fetch-site", site}}))) << site;
  }
}

TEST(Cookies, AreFoundByTheirWholeName) {
  const auto values = [](std::string_view field) { return cookie_values(field, "attnscope-1"); };
  using Values = std::vector<std::string_view>;
  EXPECT_EQ(values("attnscope-1=a"), Values{"a"});
  EXPECT_EQ(values("x=1; attnscope-1=a; y=2"), Values{"a"});
  EXPECT_EQ(values("attnscope-1=a;attnscope-1=b"), (Values{"a", "b"}));
  EXPECT_EQ(values("attnscope-1=a=b"), Values{"a=b"});
  EXPECT_EQ(values("attnscope-1="), Values{""});
  for (const char* none : {"", ";", "attnscope-1", "attnscope-12=a", "xattnscope-1=a",
                           "x=attnscope-1=a", "Attnscope-1=a"}) {
    EXPECT_TRUE(values(none).empty()) << none;
  }
}

TEST(Tokens, AreComparedWhole) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abcd", "abd", "Abc"}) {
    EXPECT_FALSE(equal_in_constant_time("abc", other)) << other;
  }
}

TEST(Tokens, Are128RandomBitsInHex) {
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string token = random_token();
    EXPECT_EQ(token.size(), 32U);
    EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
    seen.insert(token);
  }
  EXPECT_EQ(seen.size(), 200U);
}

TEST(Targets, ArePathsThatAreNotDecoded) {
  EXPECT_EQ(split_target("/a%2e?b?c")->path, "/a%2e");
  EXPECT_EQ(split_target("/a%2e?b?c")->query, "b?c");
  EXPECT_EQ(split_target("/")->query, "");
  for (const char* none : {"", "*", "http://127.0.0.1:8765/", "evil.example:443", "?token=1"}) {
    EXPECT_FALSE(split_target(none)) << none;
  }
}

// What RFC 9110, 14.1.2 says of a file of 10 bytes.
TEST(Ranges, OnePart) {
  const auto part = [](std::uint64_t first, std::uint64_t last) {
    return ByteRange{.kind = Kind::part, .first = first, .last = last};
  };
  EXPECT_EQ(parse_range("bytes=0-0", 10), part(0, 0));
  EXPECT_EQ(parse_range("bytes=2-5", 10), part(2, 5));
  EXPECT_EQ(parse_range("bytes=2-", 10), part(2, 9));
  EXPECT_EQ(parse_range("bytes=9-", 10), part(9, 9));
  EXPECT_EQ(parse_range("bytes=2-99", 10), part(2, 9));
  EXPECT_EQ(parse_range("bytes=-3", 10), part(7, 9));
  EXPECT_EQ(parse_range("bytes=-99", 10), part(0, 9));
  EXPECT_EQ(parse_range("Bytes=2-5", 10), part(2, 5));
  EXPECT_EQ(parse_range("bytes=5-18446744073709551615", 10), part(5, 9));
}

TEST(Ranges, OutsideOfTheFile) {
  for (const char* range :
       {"bytes=10-", "bytes=10-20", "bytes=-0", "bytes=9-1", "bytes=18446744073709551615-"}) {
    EXPECT_EQ(parse_range(range, 10).kind, Kind::beyond) << range;
  }
  for (const char* range : {"bytes=0-", "bytes=0-0", "bytes=-1"}) {
    EXPECT_EQ(parse_range(range, 0).kind, Kind::beyond) << range;
  }
}

TEST(Ranges, NotUnderstoodIsTheWholeFile) {
  std::string many = "bytes=0-0";
  for (int i = 1; i < 200; ++i) many += "," + std::to_string(i) + "-" + std::to_string(i);
  for (const std::string& range :
       {std::string(), std::string("bytes"), std::string("bytes="), std::string("bytes=-"),
        std::string("bytes=a-b"), std::string("bytes=0x1-5"), std::string("bytes=1-5;2-3"),
        std::string("bytes=18446744073709551616-"), std::string("bytes=5-18446744073709551616"),
        std::string("bytes=-18446744073709551616"), std::string("bytes=+1-5"),
        std::string("bytes=1--5"), std::string("bytes=--5"), std::string("bytes=1 - 5"),
        std::string("rows=0-5"), std::string("bytes=0-1,3-4"), many}) {
    EXPECT_EQ(parse_range(range, 10).kind, Kind::whole) << range;
  }
}

TEST(Etags, AreFoundInAList) {
  EXPECT_TRUE(matches_any("\"a\"", "\"a\""));
  EXPECT_TRUE(matches_any("\"b\", W/\"a\"", "\"a\""));
  EXPECT_TRUE(matches_any("*", "\"a\""));
  EXPECT_FALSE(matches_any("\"b\"", "\"a\""));
  EXPECT_FALSE(matches_any("a", "\"a\""));
  EXPECT_FALSE(matches_any("", "\"a\""));
}
