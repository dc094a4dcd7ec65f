#include "attnscope/data/encoded_prompt.h"

#include <gtest/gtest.h>

#include "attnscope/support/error.h"
#include "testing/fixtures.h"

namespace attnscope {
namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer loaded =
      Tokenizer::load(testing::fixture("models/tiny-random-gpt2/tokenizer.json"), "");
  return loaded;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

EncodedPrompt encode(Prompt prompt, const EncodePromptOptions& options = {}) {
  return encode_prompt(prompt, &tokenizer(), options);
}

TEST(EncodedPrompt, TokenTextsAreThePartsOfTheText) {
  const std::string text = "Hello w\u00F6rld, caf\u00E9\n 12";
  const EncodedPrompt prompt = encode({.text = text, .columns = {{"a", "b"}}, .line = 7});
  EXPECT_EQ(joined(prompt.token_bytes), text);
  EXPECT_EQ(prompt.columns.size(), 1u);
  EXPECT_EQ(prompt.line, 7);
  EXPECT_EQ(prompt.token_types.size(), prompt.size());
}

// The vocabulary has no token for byte F0, which vanishes; the tokens of the other three keep
// theirs.
TEST(EncodedPrompt, TokensOfOneCharacterKeepTheirOwnBytes) {
  const EncodedPrompt prompt = encode({.text = "\xF0\x9F\x98\x80"});
  EXPECT_EQ(joined(prompt.token_bytes), "\x9F\x98\x80");
  EXPECT_GT(prompt.size(), 1u);
  for (const std::string& text : prompt.token_texts) EXPECT_NE(text, "\xF0\x9F\x98\x80");
}

TEST(EncodedPrompt, IdsGetTheTextTheyStandFor) {
  const EncodedPrompt by_text = encode({.text = "the cat sat"});
  const EncodedPrompt by_ids = encode({.ids = by_text.ids});
  EXPECT_EQ(by_ids.pieces, by_text.pieces);
  EXPECT_EQ(joined(by_ids.token_texts), "the cat sat");
  EXPECT_EQ(by_ids.text, "the cat sat");
  const EncodedPrompt blind = encode_prompt({.ids = {{5, 6}}}, nullptr, {});
  EXPECT_EQ(blind.pieces, (std::vector<std::string>{"#5", "#6"}));
}

TEST(EncodedPrompt, KnowsWhereTheUsersTextBegins) {
  EXPECT_EQ(encode({.text = "Hi"}).user_begin, 0U);
  const EncodedPrompt chat = encode({.text = "Hi"}, {.chat = ChatStyle::gemma});
  EXPECT_EQ(chat.text.substr(chat.user_begin, 2), "Hi");
}

TEST(EncodedPrompt, AChatFormatTakesOneText) {
  for (const Prompt& prompt : {Prompt{.text = "a", .pair = "b"}, Prompt{.ids = {{5, 6}}}}) {
    try {
      encode(prompt, {.chat = ChatStyle::gemma});
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), "PR05");
    }
  }
}

TEST(EncodedPrompt, SecondTextOfAPairIsToldApart) {
  const EncodedPrompt prompt = encode({.text = "the cat", .pair = "a dog"});
  std::string first;
  std::string second;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    (prompt.in_second[i] != 0 ? second : first) += prompt.token_texts[i];
  }
  EXPECT_EQ(first, "the cat");
  EXPECT_EQ(second, "a dog");
}

TEST(EncodedPrompt, InvalidBytesAreReplacedWhenAsked) {
  EncodePromptOptions options;
  options.encode.invalid_utf8 = InvalidUtf8::replace;
  EXPECT_EQ(encode({.text = "a\xFF"
                            "b"},
                   options)
                .text,
            "a\uFFFDb");
  EXPECT_THROW(encode({.text = "a\xFF"
                               "b"}),
               Error);
}

TEST(EncodedPrompt, EmptyPromptsAndMissingTokenizersAreErrors) {
  EXPECT_THROW(encode({.text = ""}), Error);
  EXPECT_THROW(encode_prompt({.text = "x"}, nullptr, {}), Error);
}

}  // namespace
}  // namespace attnscope
