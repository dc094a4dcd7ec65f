// Tokens and the cookie that they are changed for.
#include "access.h"

#include <gtest/gtest.h>

using namespace attnscope::serve;  // NOLINT
using std::chrono::seconds;

namespace {

Request with_cookie(const std::string& field) {
  return {.method = "GET", .target = "/", .version = 11, .fields = {{"cookie", field}}};
}

}  // namespace

TEST(Access, ThePrintedTokenLetsInAsOftenAsItIsUsed) {
  Access access(8765);
  const auto now = Clock::now();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(access.accepts(access.token(), now + seconds(1000 * i), Access::Use::spend));
  }
  EXPECT_FALSE(access.accepts("", now, Access::Use::spend));
  EXPECT_FALSE(access.accepts(access.token() + "0", now, Access::Use::spend));
  EXPECT_FALSE(access.accepts(access.token().substr(1), now, Access::Use::spend));
  EXPECT_FALSE(access.accepts(Access(8765).token(), now, Access::Use::spend));
}

TEST(Access, ALaunchTokenIsGoodOnceAndForAMinute) {
  Access access(8765);
  const auto now = Clock::now();
  const std::string first = access.issue_launch_token(now);
  EXPECT_NE(first, access.token());
  EXPECT_TRUE(access.accepts(first, now, Access::Use::look));
  EXPECT_TRUE(access.accepts(first, now + seconds(60), Access::Use::spend));
  EXPECT_FALSE(access.accepts(first, now, Access::Use::spend));
  const std::string second = access.issue_launch_token(now);
  EXPECT_FALSE(access.accepts(second, now + seconds(61), Access::Use::spend));
  EXPECT_FALSE(access.accepts("", now, Access::Use::spend));
}

TEST(Access, TheCookieIsAnotherSecretUnderTheNameOfThePort) {
  const Access access(8765);
  const std::string cookie = access.set_cookie();
  const std::string name = "attnscope-8765=";
  ASSERT_TRUE(cookie.starts_with(name));
  const std::string pair = cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(cookie.substr(pair.size()), "; HttpOnly; SameSite=Strict; Path=/");
  EXPECT_EQ(pair.size(), name.size() + 32);
  EXPECT_TRUE(access.holds_cookie(with_cookie(pair)));
  // Another program of this host may have set one of the same name.
  EXPECT_TRUE(access.holds_cookie(with_cookie(name + "0; " + pair)));
  EXPECT_FALSE(access.holds_cookie(with_cookie(name + access.token())));
  EXPECT_FALSE(access.holds_cookie(with_cookie(name)));
  EXPECT_FALSE(access.holds_cookie(with_cookie("")));
  EXPECT_FALSE(Access(8766).holds_cookie(with_cookie(pair)));
  EXPECT_FALSE(Access(8765).holds_cookie(with_cookie(pair)));
}

TEST(Access, TheTokenOfAQueryIsTheWholeOfIt) {
  EXPECT_EQ(Access::token_of_query("token=ab"), "ab");
  EXPECT_EQ(Access::token_of_query("token=ab&x=1"), "ab&x=1");
  EXPECT_FALSE(Access::token_of_query("x=1&token=ab"));
  EXPECT_FALSE(Access::token_of_query(""));
}
