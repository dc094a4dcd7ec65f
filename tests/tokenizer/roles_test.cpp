// Begin token, roles, chat formats, invalid UTF-8, gaps in the ids, use from several threads.
#include <gtest/gtest.h>

#include <thread>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"
#include "tokenizer_files.h"

namespace attnscope {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int64_t>;

json special(std::int64_t id, const std::string& content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// Words a, b; special tokens <s> 0, </s> 1.
json word_tokenizer() {
  return {{"added_tokens", {special(0, "<s>"), special(1, "</s>")}},
          {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
          {"model",
           {{"type", "WordLevel"},
            {"unk_token", "[UNK]"},
            {"vocab", {{"<s>", 0}, {"</s>", 1}, {"[UNK]", 2}, {"a", 3}, {"b", 4}}}}}};
}

json template_processor() {
  const auto token = [](const std::string& name) {
    return json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
  };
  const auto text = [](const std::string& name, int type) {
    return json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", {token("<s>"), text("A", 0), token("</s>")}},
          {"pair", {token("<s>"), text("A", 0), token("</s>"), text("B", 1), token("</s>")}},
          {"special_tokens",
           {{"<s>", {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}}},
            {"</s>", {{"id", "</s>"}, {"ids", {1}}, {"tokens", {"</s>"}}}}}}};
}

TEST(BeginToken, FollowsTheTemplate) {
  json file = word_tokenizer();
  file["post_processor"] = template_processor();
  const Tokenizer tokenizer = testing::tokenizer_from(file);
  EXPECT_TRUE(tokenizer.adds_bos());
  EXPECT_EQ(tokenizer.encode("a b").ids, (Ids{0, 3, 4, 1}));
  EXPECT_EQ(tokenizer.encode("a b", {.bos = BosMode::on}).ids, (Ids{0, 3, 4, 1}));
  EXPECT_EQ(tokenizer.encode("a b", {.bos = BosMode::off}).ids, (Ids{3, 4, 1}));
  EXPECT_EQ(tokenizer.encode("a b", {.specials = SpecialTokens::skip}).ids, (Ids{3, 4}));
  EXPECT_EQ(tokenizer.encode("a", {.specials = SpecialTokens::skip, .bos = BosMode::on}).ids,
            (Ids{0, 3}));
}

TEST(BeginToken, OfTheTextIsNotDoubledAndNotDropped) {
  json file = word_tokenizer();
  file["post_processor"] = template_processor();
  const Tokenizer tokenizer = testing::tokenizer_from(file);
  EXPECT_EQ(tokenizer.encode("<s> a").ids, (Ids{0, 0, 3, 1}));
  const Encoding on = tokenizer.encode("<s> a", {.bos = BosMode::on});
  EXPECT_EQ(on.ids, (Ids{0, 3, 1}));
  EXPECT_EQ(on.special, (std::vector<std::uint8_t>{0, 0, 1}));
  EXPECT_EQ(tokenizer.encode("<s> a", {.bos = BosMode::off}).ids, (Ids{0, 3, 1}));
}

TEST(BeginToken, FollowsTheConfigurationWithoutATemplate) {
  const json file = word_tokenizer();
  const Tokenizer yes =
      testing::tokenizer_from(file, R"({"bos_token": "<s>", "add_bos_token": true})");
  EXPECT_TRUE(yes.adds_bos());
  const Encoding encoding = yes.encode("a");
  EXPECT_EQ(encoding.ids, (Ids{0, 3}));
  EXPECT_EQ(encoding.offsets.front(), (CharSpan{0, 0}));
  EXPECT_EQ(encoding.special.front(), 1);
  EXPECT_EQ(yes.encode("a", {.bos = BosMode::off}).ids, (Ids{3}));
  EXPECT_EQ(yes.encode_pair("a", "b").ids, (Ids{0, 3, 4}));
  const Tokenizer no = testing::tokenizer_from(file);
  EXPECT_FALSE(no.adds_bos());
  EXPECT_EQ(no.encode("a").ids, (Ids{3}));
  EXPECT_EQ(no.encode("a", {.bos = BosMode::on}).ids, (Ids{0, 3}));
}

TEST(BeginToken, UnknownIsAnError) {
  json file = word_tokenizer();
  file["added_tokens"] = json::array();
  const Tokenizer tokenizer = testing::tokenizer_from(file);
  EXPECT_THROW(tokenizer.encode("a", {.bos = BosMode::on}), Error);
  EXPECT_EQ(tokenizer.encode("a", {.bos = BosMode::off}).ids, (Ids{3}));
}

TEST(Roles, ComeFromTheConfigurationThenFromCustomarySpellings) {
  const Tokenizer named = testing::tokenizer_from(
      word_tokenizer(),
      R"({"bos_token": {"content": "b", "special": true}, "pad_token": "a", "mask_token": null})");
  EXPECT_EQ(named.special_ids().bos, 4);
  EXPECT_EQ(named.special_ids().pad, 3);
  EXPECT_EQ(named.special_ids().eos, 1);
  EXPECT_EQ(named.special_ids().unk, 2);
  EXPECT_FALSE(named.special_ids().mask);
  const Tokenizer bert =
      Tokenizer::load(testing::fixture("tokenizers/minilm/tokenizer.json"),
                      testing::fixture("tokenizers/minilm/tokenizer_config.json"));
  EXPECT_EQ(bert.special_ids().cls, 101);
  EXPECT_EQ(bert.special_ids().sep, 102);
  EXPECT_EQ(bert.special_ids().mask, 103);
  EXPECT_EQ(bert.special_ids().pad, 0);
  EXPECT_EQ(bert.special_ids().unk, 100);
  EXPECT_TRUE(bert.adds_bos());
  EXPECT_EQ(bert.kind(), TokenizerKind::wordpiece);
  EXPECT_EQ(bert.vocab_size(), 30522u);
  EXPECT_EQ(bert.encode("hi", {.bos = BosMode::off}).ids, (Ids{7632, 102}));
}

TEST(ChatTemplate, IsTextThatIsNeverRun) {
  const testing::TempFolder folder;
  write_file_atomically(folder.file("tokenizer.json"), word_tokenizer().dump(), WriteMode::create);
  write_file_atomically(folder.file("config.json"),
                        R"({"chat_template": [{"name": "tool", "template": "x"},
                                              {"name": "default", "template": "{{ 1/0 }}"}]})",
                        WriteMode::create);
  const std::string file = folder.file("tokenizer.json");
  EXPECT_EQ(Tokenizer::load(file, "").chat_template(), "");
  EXPECT_EQ(Tokenizer::load(file, folder.file("config.json")).chat_template(), "{{ 1/0 }}");
  write_file_atomically(folder.file("chat_template.jinja"), "{% from a file %}", WriteMode::create);
  EXPECT_EQ(Tokenizer::load(file, folder.file("config.json")).chat_template(), "{% from a file %}");
}

TEST(ChatStyles, FollowThePublishedFormats) {
  EXPECT_EQ(format_chat(ChatStyle::chatml, "Hi"),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(format_chat(ChatStyle::llama3, "Hi"),
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(format_chat(ChatStyle::gemma, "Hi"),
            "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n");
}

TEST(ChatStyles, OpenBeforeTheUsersText) {
  for (const ChatStyle style : {ChatStyle::chatml, ChatStyle::llama3, ChatStyle::gemma}) {
    const std::string text = format_chat(style, "[here]");
    EXPECT_EQ(text.find("[here]"), chat_opening(style).size());
    EXPECT_TRUE(text.starts_with(chat_opening(style)));
  }
}

// A token that is only a word of the vocabulary is not found inside the format.
TEST(ChatStyles, NeedTokensOfTheirOwn) {
  json file = word_tokenizer();
  const auto lacks = [&file](const std::string& token) {
    try {
      check_chat_tokens(testing::tokenizer_from(file), ChatStyle::chatml);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), "TK54");
      EXPECT_EQ(e.exit_code(), 2);
      return std::string(e.what()).find("\"" + token + "\"") != std::string::npos;
    }
    return token.empty();
  };
  EXPECT_TRUE(lacks("<|im_start|>"));
  file["model"]["vocab"]["<|im_start|>"] = 5;
  file["model"]["vocab"]["<|im_end|>"] = 6;
  EXPECT_TRUE(lacks("<|im_start|>"));
  file["added_tokens"].push_back(special(5, "<|im_start|>"));
  EXPECT_TRUE(lacks("<|im_end|>"));
  json plain = special(6, "<|im_end|>");
  plain["special"] = false;
  file["added_tokens"].push_back(plain);
  EXPECT_TRUE(lacks(""));
}

TEST(LongText, IsRefusedWithBothNumbers) {
  const Tokenizer tokenizer = testing::tokenizer_from(word_tokenizer());
  const std::string text(Tokenizer::kMaxTextBytes + 1, 'a');
  try {
    tokenizer.encode(text);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), "TK52");
    EXPECT_EQ(e.exit_code(), 4);
    EXPECT_NE(std::string(e.what()).find("16777216"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("16777217"), std::string::npos) << e.what();
  }
}

TEST(InvalidUtf8, NamesTheByteOrIsReplaced) {
  const Tokenizer tokenizer = testing::tokenizer_from(word_tokenizer());
  try {
    tokenizer.encode("a \xE2\x82 b");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), "TK50");
    EXPECT_EQ(e.exit_code(), 2);
    EXPECT_NE(std::string(e.what()).find("byte 2"), std::string::npos) << e.what();
  }
  // One U+FFFD for a cut sequence, one for each byte that begins nothing.
  const Encoding cut = tokenizer.encode("\xE2\x82 a", {.invalid_utf8 = InvalidUtf8::replace});
  EXPECT_EQ(cut.offsets, (std::vector<CharSpan>{{0, 1}, {2, 3}}));
  const Encoding bytes = tokenizer.encode("\xFF\xFF a", {.invalid_utf8 = InvalidUtf8::replace});
  EXPECT_EQ(bytes.offsets, (std::vector<CharSpan>{{0, 2}, {3, 4}}));
}

TEST(Ids, GapsCostNothingAndAreTold) {
  json file = word_tokenizer();
  file["model"]["vocab"]["far"] = 2147483647;
  file["model"]["vocab"]["b"] = 9;
  const Tokenizer tokenizer = testing::tokenizer_from(file);
  EXPECT_EQ(tokenizer.vocab_size(), 6u);
  EXPECT_EQ(tokenizer.id_limit(), 2147483648);
  EXPECT_EQ(tokenizer.encode("b far").ids, (Ids{9, 2147483647}));
  EXPECT_EQ(tokenizer.piece(9), "b");
  EXPECT_EQ(tokenizer.piece(4), std::nullopt);
  EXPECT_EQ(tokenizer.piece(-1), std::nullopt);
  EXPECT_EQ(tokenizer.id("far"), 2147483647);
  EXPECT_EQ(tokenizer.id("near"), std::nullopt);
  EXPECT_EQ(tokenizer.decode(Ids{3, 4, 9}), "a b");
}

TEST(EmptyText, GivesOnlyWhatTheTemplateAdds) {
  json file = word_tokenizer();
  EXPECT_EQ(testing::tokenizer_from(file).encode("").size(), 0u);
  file["post_processor"] = template_processor();
  EXPECT_EQ(testing::tokenizer_from(file).encode("").ids, (Ids{0, 1}));
}

TEST(Threads, ShareOneTokenizer) {
  const Tokenizer tokenizer =
      Tokenizer::load(testing::fixture("tokenizers/minilm/tokenizer.json"), "");
  const std::string text = "Caf\xC3\xA9 \xE4\xB8\x96\xE7\x95\x8C unaffable [MASK]!";
  const Ids expected = tokenizer.encode(text).ids;
  std::vector<std::vector<Ids>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&tokenizer, &text, &result] {
      for (int i = 0; i < 200; ++i) result.push_back(tokenizer.encode(text).ids);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) {
    ASSERT_EQ(result.size(), 200u);
    for (const Ids& ids : result) EXPECT_EQ(ids, expected);
  }
}

}  // namespace
}  // namespace attnscope
