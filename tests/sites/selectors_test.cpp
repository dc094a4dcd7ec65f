#include "attnscope/sites/selectors.h"

#include <gtest/gtest.h>

#include <functional>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

using Ints = std::vector<int>;

std::string error_text(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_code(), 2);
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(ParseRanges, TakesNumbersRangesAndAll) {
  EXPECT_EQ(parse_ranges("0-3,7", 12, "--layers"), (Ints{0, 1, 2, 3, 7}));
  EXPECT_EQ(parse_ranges("7,3,3-4", 12, "--layers"), (Ints{3, 4, 7}));
  EXPECT_EQ(parse_ranges(" 1 , 2 - 3 ", 12, "--layers"), (Ints{1, 2, 3}));
  EXPECT_EQ(parse_ranges("*", 3, "--layers"), (Ints{0, 1, 2}));
  EXPECT_EQ(parse_ranges("all", 3, "--layers"), (Ints{0, 1, 2}));
  EXPECT_EQ(parse_ranges("2-2", 3, "--layers"), (Ints{2}));
}

TEST(ParseRanges, NamesTheBadPartAndTheValidRange) {
  for (const char* bad : {"12", "0-12", "3-1", "1-", "-1", "", "1,,2", "1,", "a", "1.5", "0x3",
                          "+1", "1 2", "--3", "99999999999999999999"}) {
    const std::string text = error_text([&] { parse_ranges(bad, 12, "--layers"); });
    EXPECT_NE(text.find("--layers"), std::string::npos) << bad;
    EXPECT_NE(text.find("layer 0 to 11"), std::string::npos) << text;
  }
  EXPECT_NE(error_text([] { parse_ranges("3-1", 12, "--layers"); }).find("\"3-1\" runs backwards"),
            std::string::npos);
  EXPECT_NE(error_text([] { parse_ranges("*", 0, "--layers"); }).find("nothing"),
            std::string::npos);
}

TEST(ParseHeads, TakesHeadsRangesAndStars) {
  const std::vector<int> heads = {2, 4, 4};
  const auto list = [&](const char* text) {
    std::vector<std::string> out;
    for (const HeadId head : parse_heads(text, heads, "--heads")) out.push_back(head_name(head));
    return out;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(list("2.1,1.3,2.1"), (Names{"1.3", "2.1"}));
  EXPECT_EQ(list("0.*"), (Names{"0.0", "0.1"}));
  EXPECT_EQ(list("1-2.3"), (Names{"1.3", "2.3"}));
  EXPECT_EQ(list("1.0-2"), (Names{"1.0", "1.1", "1.2"}));
  EXPECT_EQ(list("*.*").size(), 10U);
  EXPECT_EQ(list("*").size(), 10U);
  EXPECT_EQ(list("*.1"), (Names{"0.1", "1.1", "2.1"}));
}

TEST(ParseHeads, RefusesWhatIsNotThere) {
  const std::vector<int> heads = {2, 4, 4};
  const auto text = [&](const char* list) {
    return error_text([&] { parse_heads(list, heads, "--heads"); });
  };
  EXPECT_NE(text("3.0").find("layer 0 to 2"), std::string::npos);
  EXPECT_NE(text("0.2").find("head 0 to 1"), std::string::npos);
  EXPECT_NE(text("*.3").find("head 0 to 1"), std::string::npos);  // layer 0 has two heads
  EXPECT_NE(text("5").find("LAYER.HEAD"), std::string::npos);
  EXPECT_NE(text("enc:1.1").find("only one"), std::string::npos);
  for (const char* bad : {"", "1.", ".1", "1.1.1", "1.x", "1,1", "1.2-1", "-1.0"}) {
    EXPECT_NE(text(bad).find("--heads"), std::string::npos) << bad;
  }
}

TEST(HeadName, NamesTheStack) {
  EXPECT_EQ(head_name({3, 1, Stack::self}), "3.1");
  EXPECT_EQ(head_name({3, 1, Stack::encoder}), "enc:3.1");
  EXPECT_EQ(head_name({3, 1, Stack::decoder}), "dec:3.1");
  EXPECT_EQ(head_name({3, 1, Stack::cross}), "cross:3.1");
}

// "[BOS] Mary met John. Mary's Ann waved." with "Mary" in two pieces the second time.
const PromptText kPrompt = {
    .text = "Mary met John. Mary's Ann waved.",
    .tokens = {{-1, -1},
               {0, 4},    // Mary
               {4, 8},    // met
               {8, 13},   // John
               {13, 14},  // .
               {14, 17},  // Ma
               {17, 19},  // ry
               {19, 21},  // 's
               {21, 25},  // Ann
               {25, 31},  // waved
               {31, 32},  // .
               {-1, -1}},
    .spans = {{"subject", "Ann"},
              {"who", "Mary"},
              {"range", "[5, 13]"},
              {"answer", ""},
              {"absent", "Bob"},
              {"backwards", "[7,7]"},
              {"beyond", "[30,33]"}},
};

Ints positions(const char* list) {
  return parse_positions(list, kPrompt, "--positions");
}

TEST(ParsePositions, TakesNumbersRangesAndTheLast) {
  EXPECT_EQ(positions("3,5-7,-1,last"), (Ints{3, 5, 6, 7, 11}));
  EXPECT_EQ(positions("0"), (Ints{0}));
  EXPECT_EQ(positions("-12"), (Ints{0}));
  EXPECT_EQ(positions("*").size(), 12U);
}

TEST(ParsePositions, TakesAWordsPiecesAndItsOccurrences) {
  EXPECT_EQ(positions("\"Mary\""), (Ints{1, 5, 6}));
  EXPECT_EQ(positions("\"Mary#1\""), (Ints{1}));
  EXPECT_EQ(positions("\"Mary#2\""), (Ints{5, 6}));
  EXPECT_EQ(positions("\"John. Mary\""), (Ints{3, 4, 5, 6}));
  EXPECT_EQ(positions("\"Ann\",0"), (Ints{0, 8}));
}

TEST(ParsePositions, WantsWholeWords) {
  EXPECT_NE(error_text([] { positions("\"Mar\""); }).find("[SE21]"), std::string::npos);
  EXPECT_NE(error_text([] { positions("\"ave\""); }).find("[SE21]"), std::string::npos);
  EXPECT_EQ(positions("\"'s\""), (Ints{7}));
}

TEST(ParsePositions, CountsCodePointsAndNeedsNoSpacesBetweenHanWords) {
  // "é猫が" : three code points, seven bytes.
  const PromptText text{.text = "é猫が", .tokens = {{0, 1}, {1, 2}, {2, 3}}};
  EXPECT_EQ(parse_positions("\"猫\"", text, "--positions"), (Ints{1}));
  const PromptText cafe{.text = "café", .tokens = {{0, 4}}};
  EXPECT_NE(error_text([&] { parse_positions("\"caf\"", cafe, "--positions"); }).find("[SE21]"),
            std::string::npos);
}

TEST(ParsePositions, RefusesTheRestWithTheRange) {
  for (const char* bad : {"12", "-13", "3-1", "1-", "", "1,,2", "x", "\"Mary", "\"\"", "last-1"}) {
    const std::string text = error_text([&] { positions(bad); });
    EXPECT_NE(text.find("--positions"), std::string::npos) << bad;
  }
  EXPECT_NE(error_text([] { positions("12"); }).find("position 0 to 11"), std::string::npos);
  EXPECT_NE(error_text([] { positions("-13"); }).find("-1 to -12"), std::string::npos);
  const std::string third = error_text([] { positions("\"Mary#3\""); });
  EXPECT_NE(third.find("at least 3"), std::string::npos);
  EXPECT_NE(third.find("got 2"), std::string::npos) << third;
  EXPECT_NE(error_text([] { positions("\"Mary#0\""); }).find("count from 1"), std::string::npos);
}

TEST(ParsePositions, ReadsQuotedCommasAndEscapes) {
  const PromptText text{.text = "a, \"b\"", .tokens = {{0, 2}, {2, 6}}};
  EXPECT_EQ(parse_positions("\"a,\"", text, "--positions"), (Ints{0}));
  EXPECT_EQ(parse_positions("\"\\\"b\\\"\"", text, "--positions"), (Ints{1}));
}

TEST(ParsePositions, TakesSpansByName) {
  EXPECT_EQ(positions("subject"), (Ints{8}));
  EXPECT_EQ(positions("who"), (Ints{1, 5, 6}));  // every occurrence, all its tokens
  EXPECT_EQ(positions("range"), (Ints{2, 3}));
  EXPECT_EQ(positions("0, subject ,last"), (Ints{0, 8, 11}));
  // Spans count the text that the user wrote, wherever a chat format put it.
  PromptText chat = kPrompt;
  chat.char_offset = 9;
  EXPECT_EQ(parse_positions("range", chat, "--positions"), (Ints{5, 6, 7, 8}));
}

TEST(ParsePositions, ASpanThatIsNotThereIsAnError) {
  for (const char* bad : {"subjet", "answer", "absent", "backwards", "beyond", "Mary"}) {
    const std::string text = error_text([&] { positions(bad); });
    EXPECT_NE(text.find("[SE23] --positions"), std::string::npos) << text;
    EXPECT_NE(text.find(bad), std::string::npos) << text;
  }
  EXPECT_NE(error_text([] { positions("Mary"); }).find("in double quotes"), std::string::npos);
  EXPECT_NE(error_text([] { positions("subjet"); }).find("\"subject\""), std::string::npos);
}

TEST(ParsePositions, QuotesNothingTwice) {
  for (const char* bad : {"\"\"", "\"Mary#0\"", "\"Mary", "\"Bob\"", "\"Mary#3\""}) {
    const std::string text = error_text([&] { positions(bad); });
    EXPECT_EQ(text.find("\"\"M"), std::string::npos) << text;
    EXPECT_EQ(text.find("\"\"\""), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace attnscope
