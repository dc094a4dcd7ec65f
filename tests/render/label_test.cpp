#include "attnscope/render/label.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

// Unicode's East Asian Width and general categories.
TEST(Width, OfCharacters) {
  EXPECT_EQ(code_point_width(U'a'), 1);
  EXPECT_EQ(code_point_width(U'é'), 1);
  EXPECT_EQ(code_point_width(0x0301), 0);  // combining acute
  EXPECT_EQ(code_point_width(0x093f), 1);  // Devanagari vowel sign i, spacing
  EXPECT_EQ(code_point_width(0x0941), 0);  // Devanagari vowel sign u
  EXPECT_EQ(code_point_width(0x200d), 0);  // zero width joiner
  EXPECT_EQ(code_point_width(0xfe0f), 0);  // variation selector
  EXPECT_EQ(code_point_width(U'日'), 2);
  EXPECT_EQ(code_point_width(U'한'), 2);
  EXPECT_EQ(code_point_width(U'Ａ'), 2);    // full-width A
  EXPECT_EQ(code_point_width(U'ｱ'), 1);     // half-width katakana
  EXPECT_EQ(code_point_width(0x1f600), 2);  // emoji
  EXPECT_EQ(code_point_width(U'→'), 1);
}

TEST(Width, OfText) {
  EXPECT_EQ(display_width("naïve"), 5);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("日本"), 4);
}

TEST(TokenLabel, ShowsSpacesAndHidesNothing) {
  EXPECT_EQ(token_label(" Anna"), "·Anna");
  EXPECT_EQ(token_label("  x y"), "··x y");
  EXPECT_EQ(token_label("\n\n"), "\\n\\n");
  EXPECT_EQ(token_label("\t"), "\\t");
  EXPECT_EQ(token_label(""), "");
  EXPECT_EQ(token_label("日本"), "日本");
}

TEST(TokenLabel, IsSafeForATerminal) {
  EXPECT_EQ(token_label("\x1b[31m"), "\\x1B[31m");
  EXPECT_EQ(token_label("\xff"), "\\xFF");
  EXPECT_EQ(token_label("a\u202eb"), "a\\xE2\\x80\\xAEb");
  EXPECT_EQ(token_label("\x9b"
                        "0m"),
            "\\x9B0m");
}

TEST(Fit, NeverCutsACharacter) {
  EXPECT_EQ(fit_width("internationalization", 8), "interna…");
  EXPECT_EQ(fit_width("short", 8), "short");
  EXPECT_EQ(fit_width("日本語", 4), "日…");
  EXPECT_EQ(fit_width("日本語", 5), "日本…");
  EXPECT_EQ(fit_width("abc", 1), "…");
  EXPECT_EQ(fit_width("abc", 0), "");
}

TEST(Fit, FillsToTheWidth) {
  EXPECT_EQ(pad_to_width("ab", 4, Align::left), "ab  ");
  EXPECT_EQ(pad_to_width("ab", 4, Align::right), "  ab");
  EXPECT_EQ(pad_to_width("日本語", 4, Align::right), " 日…");
}

}  // namespace
}  // namespace attnscope
