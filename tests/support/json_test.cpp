#include "attnscope/support/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string parse_message(const std::string& text) {
  return message_of([&] { parse_json(text, "f.json", "XX01"); });
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const auto v = parse_json(R"({"a":[1,-2,2.5,"x",true,null],"b":{"c":{}}})", "f", "XX01");
  EXPECT_EQ(v, nlohmann::json::parse(R"({"a":[1,-2,2.5,"x",true,null],"b":{"c":{}}})"));
}

TEST(ParseJson, RefusesWhatOtherReadersLetPass) {
  EXPECT_NE(parse_message(R"({"a":1,"a":2})").find("duplicate key \"a\""), std::string::npos);
  EXPECT_NE(parse_message("{\"a\":1").find("(byte 6)"), std::string::npos);
  EXPECT_NE(parse_message("{\"a\":\"\xff\"}").find("UTF-8 at byte 6"), std::string::npos);
  EXPECT_NE(parse_message(R"({"a":1e400})"), "");
  EXPECT_NE(parse_message(R"({"a":NaN})"), "");
  EXPECT_NE(parse_message(R"({"a":"\ud800"})"), "");
  EXPECT_NE(parse_message("{} x"), "");
  EXPECT_NE(parse_message(""), "");
}

// Line, column and byte are counted by hand.
TEST(ParseJson, SaysWhereAndWhatInPlainWords) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "column 1 (byte 0): the text is empty"},
      {" \n", "line 1, column 1 (byte 0): the text is empty"},
      {"{\"a\":1", "column 7 (byte 6): the text ends too early"},
      {"{\"a\":\"x", "column 8 (byte 7): the text ends inside a string"},
      {"{\"a\":1e400}", "column 6 (byte 5): the number \"1e400\" is too large"},
      {"{\"a\":-1e400}", "column 6 (byte 5): the number \"-1e400\" is too large"},
      {"{\"a\":NaN}", "column 6 (byte 5): unexpected \"NaN\", which JSON has not; write null"},
      {"{\"a\":-Infinity}",
       "column 6 (byte 5): unexpected \"-Infinity\", which JSON has not; write null"},
      {"{\"a\":nul}", "column 6 (byte 5): unexpected \"nul\""},
      {"{\"a\":-}", "column 6 (byte 5): unexpected \"-\""},
      {"[1}", "column 3 (byte 2): unexpected \"}\""},
      {"[true}", "column 6 (byte 5): unexpected \"}\""},
      {"{\"a\":0x10}", "column 6 (byte 5): unexpected \"0x10\""},
      {"{\n \"a\": 1,\n \"é\" 2}", "line 3, column 6 (byte 17): unexpected \"2\""},
      {"{\"a\" \"b\"}", "column 6 (byte 5): unexpected '\"b\"'"},
      {"{\"a\":1,}", "column 8 (byte 7): unexpected \"}\""},
      {"{} x", "column 4 (byte 3): unexpected \"x\""},
      {"[1 é]", "column 4 (byte 3): unexpected \"é\""},
      {"{\"a\":\"x\ty\"}",
       "column 8 (byte 7): a control character in a string is not written as an escape"},
      {R"({"a":"x\qy"})", "column 9 (byte 8): a wrong escape in a string"},
      {R"({"a":"\ud800"})", "a wrong escape in a string"},
      {R"({"a":"\ud800x"})", "a wrong escape in a string"},
      {R"({"a":"\"x"y"})", "column 11 (byte 10): unexpected \"y\""},
  };
  for (const auto& [text, says] : table) {
    const std::string message = parse_message(text);
    EXPECT_NE(message.find("not valid JSON at "), std::string::npos) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message << "\n" << says;
    for (const char* jargon :
         {"exception", "literal", "syntax error", "last read", "parse_error"}) {
      EXPECT_EQ(message.find(jargon), std::string::npos) << message;
    }
  }
}

TEST(ParseJson, DeepNestingIsAnErrorAndNoStackOverflow) {
  EXPECT_NE(parse_message(std::string(1000000, '[')).find("nested deeper than 64"),
            std::string::npos);
}

TEST(ParseJson, MessagesEscapeHostileText) {
  const std::string text = parse_message("{\"\x1b[31m\":1}");
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

TEST(JsonObject, TypedAccessNamesTheKeyPath) {
  const auto v = nlohmann::json::parse(
      R"({"n":3,"x":2.7,"s":"12","big":18446744073709551615,"neg":-1,"o":{"k":"v"},"z":null})");
  const JsonObject o(v, "config.json", "CF01");
  EXPECT_EQ(o.integer("n", {1, 5}), 3);
  EXPECT_EQ(o.integer_or("absent", 7), 7);
  EXPECT_EQ(o.integer_or("z", 7), 7);
  EXPECT_DOUBLE_EQ(o.number("x"), 2.7);
  EXPECT_EQ(message_of([&] { o.integer("x"); }),
            "error [CF01] config.json: key \"x\"; expected an integer, got a fraction");
  EXPECT_EQ(message_of([&] { o.integer("s"); }),
            "error [CF01] config.json: key \"s\"; expected an integer, got a string");
  EXPECT_NE(message_of([&] { o.integer("big"); }).find("18446744073709551615"), std::string::npos);
  EXPECT_NE(message_of([&] {
              o.integer("neg", {0, 9});
            }).find("expected 0 to 9, got -1"),
            std::string::npos);
  EXPECT_NE(message_of([&] { o.object("o").integer("k"); }).find("\"o.k\""), std::string::npos);
  EXPECT_NE(message_of([&] { o.string("absent"); }).find("is missing"), std::string::npos);
}

TEST(JsonObject, UnknownKeysGetASuggestion) {
  const auto v = nlohmann::json::parse(R"({"layer":1})");
  EXPECT_NE(message_of([&] {
              JsonObject(v, "s", "SP01").forbid_unknown_keys({"layers", "heads"});
            }).find("did you mean \"layers\"?"),
            std::string::npos);
}

}  // namespace
}  // namespace attnscope
