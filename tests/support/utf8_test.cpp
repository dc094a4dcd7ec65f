#include "attnscope/support/utf8.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_FALSE(first_invalid_utf8("aé€😀"));
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(first_invalid_utf8("\xc0\xaf"), 0u);          // overlong "/"
  EXPECT_EQ(first_invalid_utf8("a\xed\xa0\x80"), 1u);     // surrogate
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(first_invalid_utf8("ab\xe2\x82"), 2u);        // cut
  EXPECT_EQ(first_invalid_utf8("\x80"), 0u);
}

TEST(Utf8, EncodesAndDecodesEveryLength) {
  for (const char32_t c :
       {U'\0', U'a', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xFFFD', U'\x10000', U'\x10FFFF'}) {
    std::string text;
    append_utf8(text, c);
    EXPECT_FALSE(first_invalid_utf8(text));
    std::size_t pos = 0;
    EXPECT_EQ(next_code_point(text, pos), c);
    EXPECT_EQ(pos, text.size());
    EXPECT_EQ(count_code_points(text), 1u);
  }
}

TEST(EscapeUntrusted, LeavesNothingThatActsOnATerminal) {
  EXPECT_EQ(escape_untrusted("a\x1b[31m\n"), "a\\x1B[31m\\x0A");
  EXPECT_EQ(escape_untrusted(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape_untrusted("\xff"), "\\xFF");
  EXPECT_EQ(escape_untrusted("é"), "é");
  EXPECT_EQ(escape_untrusted("\xe2\x80\xae"), "\\xE2\\x80\\xAE");  // right-to-left override
  EXPECT_EQ(escape_untrusted("a\\b"), "a\\x5Cb");
}

TEST(Quote, UsesTheOtherMarkAroundQuotes) {
  EXPECT_EQ(quote("Mary"), "\"Mary\"");
  EXPECT_EQ(quote("\"Mary\""), "'\"Mary\"'");
  EXPECT_EQ(quote("\"\n"), "'\"\\x0A'");
}

TEST(EscapeUntrusted, CutsLongTextBetweenCharacters) {
  const std::string cut = escape_untrusted(std::string(1000, 'x'), 10);
  EXPECT_EQ(cut, "xxxxxxxxxx…");
  EXPECT_EQ(escape_untrusted("ééé", 5), "éé…");
}

}  // namespace
}  // namespace attnscope
