#include "attnscope/support/text.h"

#include <gtest/gtest.h>

#include <clocale>
#include <limits>

namespace attnscope {
namespace {

TEST(Numbers, RoundTripAndIgnoreTheLocale) {
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  EXPECT_EQ(format_number(0.1), "0.1");
  EXPECT_EQ(format_number(2.0 / 3.0, 4), "0.6667");
  EXPECT_EQ(format_number(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(parse_number("0.5"), 0.5);
  EXPECT_FALSE(parse_number("0,5"));
  EXPECT_FALSE(parse_number("1e999"));
  EXPECT_FALSE(parse_number(" 1"));
  EXPECT_FALSE(parse_number(""));
  EXPECT_EQ(parse_integer("-7"), -7);
  EXPECT_FALSE(parse_integer("0x10"));
  EXPECT_FALSE(parse_integer("9223372036854775808"));
  std::setlocale(LC_NUMERIC, "C");
}

TEST(Numbers, CountsAndSpeedsHaveNoExponent) {
  EXPECT_EQ(format_number(1637.9, 3), "1640");
  EXPECT_EQ(format_number(-12345, 2), "-12000");
  EXPECT_EQ(format_number(999.6, 3), "1000");
  EXPECT_EQ(format_number(163.79, 3), "164");
  EXPECT_EQ(format_number(9'876'543, 4), "9877000");
  EXPECT_EQ(format_number(1.25e12, 3), "1.25e+12");
  EXPECT_EQ(format_number(0.000012345, 3), "1.23e-05");
}

TEST(Bytes, ReadAsAPersonWouldWriteThem) {
  EXPECT_EQ(format_bytes(12), "12 bytes");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(std::uint64_t{300} << 20), "300 MiB");
}

TEST(Bytes, OneIsNoPlural) {
  EXPECT_EQ(format_bytes(1), "1 byte");
  EXPECT_EQ(format_bytes(0), "0 bytes");
}

TEST(Counts, AgreeWithTheirNoun) {
  EXPECT_EQ(count_of(1, "bad line"), "1 bad line");
  EXPECT_EQ(count_of(2, "bad line"), "2 bad lines");
  EXPECT_EQ(count_of(0, "batch"), "0 batches");
  EXPECT_EQ(count_of(3, "entry"), "3 entries");
  EXPECT_EQ(count_of(3, "array"), "3 arrays");
  EXPECT_EQ(count_of(1, "entry"), "1 entry");
}

TEST(Nearest, SuggestsTyposAndPartsOnly) {
  const std::vector<std::string> names = {"capture", "inspect", "hook_pattern"};
  EXPECT_EQ(nearest("captur", names), (std::vector<std::string>{"capture"}));
  EXPECT_EQ(nearest("pattern", names), (std::vector<std::string>{"hook_pattern"}));
  EXPECT_TRUE(nearest("zzzzzzzz", names).empty());
  EXPECT_EQ(nearest("nois", {"denoise", "noise"}), (std::vector<std::string>{"noise", "denoise"}));
}

TEST(Glob, MatchesStarsAndQuestionMarks) {
  EXPECT_TRUE(glob_match("blocks.*.hook_z", "blocks.11.hook_z"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a?c*", "abcdef"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_FALSE(glob_match("*.z", "blocks.z1"));
  // No exponential blow-up.
  EXPECT_FALSE(glob_match(std::string(50, '*') + "b", std::string(10000, 'a')));
}

TEST(EscapeMarkup, LeavesNothingThatEndsTextOrAnAttribute) {
  EXPECT_EQ(escape_markup("a<b> & \"c\" 'd' é"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; é");
  EXPECT_EQ(escape_markup("&amp;"), "&amp;amp;");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
}

}  // namespace
}  // namespace attnscope
