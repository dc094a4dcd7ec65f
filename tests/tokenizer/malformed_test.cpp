// Damaged and hostile tokenizer files: each is an error that names the file and the cause.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"
#include "tokenizer_files.h"

namespace attnscope {
namespace {

using nlohmann::json;

json good_bpe() {
  return json::parse(R"({"version": "1.0", "added_tokens": [],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "fuse_unk": false,
              "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
}

json good_unigram() {
  json file = good_bpe();
  file["model"] = {{"type", "Unigram"},
                   {"unk_id", 0},
                   {"vocab", json::parse(R"([["<unk>", 0.0], ["a", -1.0], ["b", -2]])")}};
  return file;
}

json token(const json& id, const std::string& content) {
  return {{"id", id}, {"content", content}, {"special", true}};
}

struct Case {
  std::string name;
  std::string code;
  std::string in_message;
  std::string text;
};

Case changed(const std::string& name, const std::string& code, const std::string& in_message,
             const std::function<void(json&)>& change) {
  json file = good_bpe();
  change(file);
  return {name, code, in_message, file.dump()};
}

Case changed_unigram(const std::string& name, const std::string& code,
                     const std::string& in_message, const std::function<void(json&)>& change) {
  json file = good_unigram();
  change(file);
  return {name, code, in_message, file.dump()};
}

// `from` replaced by `to` in the text of a good file, for what a JSON document cannot hold.
Case edited(const std::string& name, const std::string& code, const std::string& in_message,
            const std::string& from, const std::string& to) {
  std::string text = good_bpe().dump();
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("no " + from);
  return {name, code, in_message, text.replace(at, from.size(), to)};
}

std::vector<Case> syntax_cases() {
  const std::string good = good_bpe().dump();
  return {
      {"empty file", "TK01", "byte", ""},
      {"cut in the vocabulary", "TK01", "byte", good.substr(0, good.find("\"ab\"") + 3)},
      {"cut at the end", "TK01", "byte", good.substr(0, good.size() - 1)},
      {"text after the end", "TK01", "byte", good + "x"},
      {"not an object", "TK03", "object", "[]"},
      {"bad UTF-8", "TK01", "byte", "{\"model\": \"\xFF\"}"},
      {"lone surrogate", "TK01", "byte", R"({"model": "\ud800"})"},
      {"deep nesting", "TK01", "64", std::string(100000, '[')},
      {"deep nesting in the model", "TK03", "\"a\"", R"({"model":{"vocab":{"a":[[[[)"},
      {"huge number", "TK01", "1e400", R"({"version": 1e400})"},
      edited("key twice", "TK01", "duplicate", "\"version\":\"1.0\"",
             "\"version\":\"1.0\",\"version\":\"1.0\""),
      edited("vocabulary twice", "TK01", "vocab", "\"vocab\":", "\"vocab\":{},\"vocab\":"),
  };
}

std::vector<Case> vocabulary_cases() {
  return {
      edited("token twice", "TK06", "\"b\"", "\"b\":1", "\"b\":1,\"b\":3"),
      edited("id twice", "TK06", "id 0", "\"b\":1", "\"b\":0"),
      edited("negative id", "TK07", "-1", "\"b\":1", "\"b\":-1"),
      edited("id of 2^40", "TK07", "1099511627776", "\"b\":1", "\"b\":1099511627776"),
      edited("id of 2^31", "TK07", "2147483648", "\"b\":1", "\"b\":2147483648"),
      edited("id above 2^64", "TK03", "\"b\"", "\"b\":1", "\"b\":99999999999999999999"),
      edited("id with a fraction", "TK03", "\"b\"", "\"b\":1", "\"b\":1.5"),
      edited("id as text", "TK03", "\"b\"", "\"b\":1", "\"b\":\"1\""),
      edited("id as list", "TK03", "\"b\"", "\"b\":1", "\"b\":[1]"),
      edited("id null", "TK03", "\"b\"", "\"b\":1", "\"b\":null"),
      changed("a long piece", "TK09", "5000",
              [](json& f) { f["model"]["vocab"][std::string(5000, 'x')] = 3; }),
      changed("no vocabulary", "TK03", "vocab", [](json& f) { f["model"].erase("vocab"); }),
      changed("vocabulary as a list", "TK03", "vocab",
              [](json& f) { f["model"]["vocab"] = json::array(); }),
      changed("vocabulary as text", "TK03", "vocab", [](json& f) { f["model"]["vocab"] = "a"; }),
      changed("no model", "TK03", "model", [](json& f) { f.erase("model"); }),
      changed("model as text", "TK03", "model", [](json& f) { f["model"] = "BPE"; }),
      changed_unigram("unknown id outside", "TK03", "unk_id",
                      [](json& f) { f["model"]["unk_id"] = 3; }),
      changed_unigram("unknown id negative", "TK03", "unk_id",
                      [](json& f) { f["model"]["unk_id"] = -1; }),
      changed_unigram("piece without score", "TK03", "score",
                      [](json& f) { f["model"]["vocab"][1] = json::array({"a"}); }),
      changed_unigram("score as text", "TK03", "score",
                      [](json& f) {
                        f["model"]["vocab"][1] = json::array({"a", "b"});
                      }),
      changed_unigram("piece twice", "TK06", "\"a\"",
                      [](json& f) {
                        f["model"]["vocab"][2] = json::array({"a", -1.0});
                      }),
      changed_unigram("vocabulary as an object", "TK03", "vocab",
                      [](json& f) {
                        f["model"]["vocab"] = {{"a", 0}};
                      }),
  };
}

std::vector<Case> merge_cases() {
  const auto merges = [](const json& value) {
    return [value](json& f) { f["model"]["merges"] = value; };
  };
  return {
      changed("unknown left", "TK08", "\"x\"", merges({"x b"})),
      changed("unknown right", "TK08", "\"x\"", merges({"a x"})),
      changed("unknown result", "TK08", "\"ba\"", merges({"b a"})),
      changed("one piece", "TK08", "merge 0", merges({"ab"})),
      changed("three pieces", "TK08", "merge 1", merges({"a b", "a b ab"})),
      changed("a pair of one", "TK08", "merge 0", merges(json::array({json::array({"a"})}))),
      changed("a pair of three", "TK08", "merge 0",
              merges(json::array({json::array({"a", "b", "a"})}))),
      changed("a number", "TK08", "merge 0", merges({1})),
      changed("an object", "TK08", "merge 0", merges(json::array({json::object()}))),
      changed("shorter than the prefix", "TK08", "prefix",
              [](json& f) { f["model"]["continuing_subword_prefix"] = "##"; }),
  };
}

std::vector<Case> added_token_cases() {
  const auto tokens = [](const json& list) {
    return [list](json& f) { f["added_tokens"] = list; };
  };
  return {
      changed("empty", "TK09", "empty", tokens(std::vector<json>{token(3, "")})),
      changed("1 MB long", "TK09", "1000000",
              tokens(std::vector<json>{token(3, std::string(1000000, 'x'))})),
      changed("gap", "TK09", "3", tokens(std::vector<json>{token(7, "<x>")})),
      changed("other id than the vocabulary", "TK09", "\"a\"",
              tokens(std::vector<json>{token(1, "a")})),
      changed("listed twice", "TK09", "twice",
              tokens(std::vector<json>{token(3, "<x>"), token(3, "<x>")})),
      changed("id twice", "TK09", "3", tokens(std::vector<json>{token(3, "<x>"), token(3, "<y>")})),
      changed("negative id", "TK03", "id", tokens(std::vector<json>{token(-1, "<x>")})),
      changed("id of 2^40", "TK03", "id", tokens(std::vector<json>{token(1099511627776, "<x>")})),
      changed("id as text", "TK03", "id", tokens(std::vector<json>{token("3", "<x>")})),
      changed("not a list", "TK03", "added_tokens", tokens("x")),
      changed("not an object", "TK03", "added_tokens[0]", tokens(json::array({"x"}))),
      changed("nothing after normalisation", "TK09", "normalisation",
              [](json& f) {
                f["normalizer"] = {{"type", "Strip"}};
                f["added_tokens"] = {{{"id", 3}, {"content", " "}, {"normalized", true}}};
              }),
  };
}

std::vector<Case> part_cases() {
  const auto part = [](const std::string& key, const json& value) {
    return [key, value](json& f) { f[key] = value; };
  };
  const json split = {{"type", "Split"}, {"behavior", "Isolated"}, {"invert", false}};
  const auto split_by = [&split](const json& pattern) {
    json value = split;
    value["pattern"] = pattern;
    return value;
  };
  json missing_token = {{"type", "TemplateProcessing"},
                        {"single", {{{"SpecialToken", {{"id", "[X]"}, {"type_id", 0}}}}}},
                        {"pair", json::array()},
                        {"special_tokens", json::object()}};
  json missing_id = missing_token;
  missing_id["special_tokens"]["[X]"] = {{"id", "[X]"}, {"ids", {9}}, {"tokens", {"[X]"}}};
  return {
      changed("model type", "TK04", "\"Magic\"", [](json& f) { f["model"]["type"] = "Magic"; }),
      changed("normalizer type", "TK04", "\"Magic\"", part("normalizer", {{"type", "Magic"}})),
      changed("normalizer inside a sequence", "TK04", "\"Magic\"",
              part("normalizer",
                   {{"type", "Sequence"}, {"normalizers", json::array({{{"type", "Magic"}}})}})),
      changed("pre-tokenizer type", "TK04", "\"Magic\"",
              part("pre_tokenizer", {{"type", "Magic"}})),
      changed("post-processor type", "TK04", "\"Magic\"",
              part("post_processor", {{"type", "Magic"}})),
      changed("decoder type", "TK04", "\"Magic\"", part("decoder", {{"type", "Magic"}})),
      changed("no type", "TK03", "type", part("decoder", json::object())),
      changed("a hostile type", "TK04", "\\x1B", part("decoder", {{"type", "\x1b[2J"}})),
      changed("evil pattern", "TK05", "(a+)+$",
              part("pre_tokenizer", split_by({{"Regex", "(a+)+$"}}))),
      changed("empty pattern", "TK03", "String", part("pre_tokenizer", split_by({{"String", ""}}))),
      changed("pattern as text", "TK03", "pattern", part("pre_tokenizer", split_by("a"))),
      changed("split behaviour", "TK03", "behavior",
              [&](json& f) {
                f["pre_tokenizer"] = split_by({{"String", "a"}});
                f["pre_tokenizer"]["behavior"] = "Sideways";
              }),
      changed("dropout", "TK10", "dropout", [](json& f) { f["model"]["dropout"] = 0.1; }),
      changed("fuse_unk as a number", "TK03", "fuse_unk",
              [](json& f) { f["model"]["fuse_unk"] = 1; }),
      changed("template names a missing token", "TK11", "[X]",
              part("post_processor", missing_token)),
      changed("template names a missing id", "TK11", "9", part("post_processor", missing_id)),
      changed("[CLS] of a missing id", "TK11", "7",
              part("post_processor",
                   {{"type", "BertProcessing"}, {"cls", {"[CLS]", 7}}, {"sep", {"[SEP]", 0}}})),
      changed("two templates", "TK03", "second",
              [&](json& f) {
                json good = {{"type", "BertProcessing"}, {"cls", {"a", 0}}, {"sep", {"b", 1}}};
                f["post_processor"] = {{"type", "Sequence"}, {"processors", {good, good}}};
              }),
      changed("character map that is not base64", "TK12", "base64",
              part("normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "**"}})),
      changed("character map that is cut", "TK12", "trie",
              part("normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "AAEAAAAA"}})),
      changed("metaspace of two characters", "TK03", "replacement",
              part("pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "__"}})),
      changed("metaspace that contradicts itself", "TK03", "add_prefix_space",
              part("pre_tokenizer", {{"type", "Metaspace"},
                                     {"replacement", "_"},
                                     {"add_prefix_space", false},
                                     {"prepend_scheme", "always"}})),
  };
}

void expect_errors(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    try {
      Tokenizer::parse(c.text, "", "some/tokenizer.json");
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      const std::string message = e.what();
      EXPECT_EQ(e.code(), c.code) << message;
      EXPECT_EQ(e.exit_code(), 2) << message;
      EXPECT_NE(message.find("some/tokenizer.json"), std::string::npos) << message;
      EXPECT_NE(message.find(c.in_message), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_LT(message.size(), 600u);
    }
  }
}

TEST(Malformed, GoodFilesLoad) {
  EXPECT_EQ(testing::tokenizer_from(good_bpe()).encode("ab").ids, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(testing::tokenizer_from(good_unigram()).encode("ab").ids,
            (std::vector<std::int64_t>{1, 2}));
  json merges_first = good_bpe();
  const std::string text =
      R"({"model": {"merges": [["a", "b"]], "vocab": {"a": 0, "b": 1, "ab": 2}}})";
  EXPECT_EQ(Tokenizer::parse(text, "", "t").encode("ab").ids, (std::vector<std::int64_t>{2}));
}

TEST(Malformed, Syntax) {
  expect_errors(syntax_cases());
}
TEST(Malformed, Vocabulary) {
  expect_errors(vocabulary_cases());
}
TEST(Malformed, Merges) {
  expect_errors(merge_cases());
}
TEST(Malformed, AddedTokens) {
  expect_errors(added_token_cases());
}
TEST(Malformed, Parts) {
  expect_errors(part_cases());
}

// Every prefix of a good file is an error, never a crash.
TEST(Malformed, EveryCut) {
  const std::string good = good_bpe().dump();
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_THROW(Tokenizer::parse(good.substr(0, n), "", "t"), Error) << n;
  }
}

// Every byte of a small file changed in turn: an error or a tokenizer, never a crash.
TEST(Malformed, EveryByteChanged) {
  const json cases = testing::read_json(testing::fixture("tokenizers/cases.json"));
  json file = cases["bases"]["wordpiece"];
  file["normalizer"] = {{"type", "BertNormalizer"}};
  const std::string good = file.dump();
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char c : {'\0', '"', '9', '}', '\xFF'}) {
      std::string text = good;
      text[i] = c;
      try {
        Tokenizer::parse(text, "", "t").encode("the quick fox");
      } catch (const Error& e) {
        EXPECT_EQ(e.exit_code(), 2);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, static_cast<int>(good.size()));
}

TEST(Malformed, Configuration) {
  for (const std::string text :
       {"{", "[]", R"({"bos_token": 5})", R"({"add_bos_token": "yes"})", R"({"chat_template": 1})",
        R"({"clean_up_tokenization_spaces": 1})", R"({"bos_token": "a", "bos_token": "b"})"}) {
    SCOPED_TRACE(text);
    try {
      Tokenizer::parse(good_bpe().dump(), text, "where");
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), "TK14") << e.what();
    }
  }
}

TEST(Malformed, MissingFileAndFolder) {
  const testing::TempFolder folder;
  EXPECT_THROW(Tokenizer::load(folder.file("tokenizer.json"), ""), Error);
  EXPECT_THROW(Tokenizer::load(folder.path(), ""), Error);
}

TEST(Malformed, FileAboveTheLimit) {
  const testing::TempFolder folder;
  const std::string path = folder.file("tokenizer.json");
  write_file_atomically(path, "{}", WriteMode::create);
  std::filesystem::resize_file(path, (std::uint64_t{256} << 20) + 1);
  try {
    Tokenizer::load(path, "");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_code(), 4);
    EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
  }
}

TEST(Malformed, TextThatNeedsAnUnknownToken) {
  json file = good_unigram();
  file["model"]["unk_id"] = nullptr;
  const Tokenizer tokenizer = testing::tokenizer_from(file);
  EXPECT_EQ(tokenizer.encode("a").ids, (std::vector<std::int64_t>{1}));
  try {
    tokenizer.encode("x");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), "TK51");
  }
}

}  // namespace
}  // namespace attnscope
