#include "attnscope/data/prompt_reader.h"

#include <gtest/gtest.h>

#include <fstream>

#include "attnscope/support/error.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

class PromptFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) {
    const std::string path = folder_.file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  PromptFile read(const std::string& name, std::string_view content,
                  const PromptReadOptions& options = {}) {
    return read_prompt_file(write(name, content), options);
  }
  std::vector<std::string> texts(const std::string& name, std::string_view content) {
    std::vector<std::string> out;
    for (const Prompt& p : read(name, content).prompts) out.push_back(p.text);
    return out;
  }
  // The message of the error that reading gives.
  std::string message(const std::string& name, std::string_view content) {
    try {
      read(name, content);
    } catch (const Error& e) {
      EXPECT_EQ(e.exit_code(), 2);
      return e.what();
    }
    return "no error";
  }
  testing::TempFolder folder_;
};

using Texts = std::vector<std::string>;

TEST_F(PromptFiles, TextLinesEndAtLfAndCrlfOnly) {
  EXPECT_EQ(texts("a.txt", "one\ntwo\r\nthree"), (Texts{"one", "two", "three"}));
  EXPECT_EQ(texts("a.txt", "one\n"), (Texts{"one"}));
  EXPECT_EQ(texts("a.txt", "a\u2028b\u0085c\rd\x0b\x0c\n"), (Texts{"a\u2028b\u0085c\rd\x0b\x0c"}));
  EXPECT_EQ(texts("a.txt", "one\n\ntwo\n"), (Texts{"one", "", "two"}));
  EXPECT_EQ(texts("a.txt", " kept \n"), (Texts{" kept "}));
}

TEST_F(PromptFiles, ByteOrderMarkIsDroppedOnlyAtTheStart) {
  EXPECT_EQ(texts("a.txt", "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"),
            (Texts{"one", "\xEF\xBB\xBFtwo"}));
}

TEST_F(PromptFiles, NulIsKept) {
  EXPECT_EQ(texts("a.txt", std::string_view("a\0b\n", 4)), (Texts{std::string("a\0b", 3)}));
  EXPECT_EQ(texts("a.jsonl", R"({"text": "a\u0000b"})"), (Texts{std::string("a\0b", 3)}));
}

TEST_F(PromptFiles, LinesLongerThanAPieceOfTheFile) {
  const std::string x(3'000'000, 'x');
  const std::string y(1'048'575, 'y');
  EXPECT_EQ(texts("a.txt", y + "\n" + x + "\n" + "z"), (Texts{y, x, "z"}));
}

TEST_F(PromptFiles, InvalidUtf8NamesLineAndByte) {
  const std::string text = message("a.txt", "good\nbad \xC3\x28\n");
  EXPECT_NE(text.find("a.txt:2"), std::string::npos) << text;
  EXPECT_NE(text.find("byte 4"), std::string::npos) << text;
  const auto replaced = read("b.txt", "bad \xC3\x28\n", {.invalid_utf8 = InvalidUtf8::replace});
  EXPECT_EQ(replaced.prompts[0].text, "bad \uFFFD(");
}

// Expected values from Python: bytes.decode("utf-8", "replace").
TEST(ReplaceInvalidUtf8, FollowsPython) {
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"
                                 "a"),
            "\uFFFDa");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xE2\x82"), "\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\x80"
                                 "ok"),
            "\uFFFDok");
  EXPECT_EQ(replace_invalid_utf8("\xE0\x80\x80"), "\uFFFD\uFFFD\uFFFD");
}

TEST_F(PromptFiles, JsonLinesKeepEveryColumn) {
  const auto file = read("a.jsonl",
                         "{\"text\": \"one\", \"group\": \"g1\", \"label\": 3}\n\n"
                         "{\"prompt\": \"two\", \"pair\": \"zwei\", \"x\": [1, {\"y\": null}], "
                         "\"gone\": null}\n"
                         "{\"ids\": [5, 17, 3], \"token_types\": [0, 0, 1]}\n");
  ASSERT_EQ(file.prompts.size(), 3u);
  EXPECT_EQ(file.prompts[0].columns, (std::vector<Column>{{"group", "g1"}, {"label", "3"}}));
  EXPECT_EQ(file.prompts[1].pair, "zwei");
  EXPECT_EQ(file.prompts[1].columns, (std::vector<Column>{{"x", "[1,{\"y\":null}]"}}));
  EXPECT_EQ(file.prompts[1].line, 3);
  EXPECT_EQ(*file.prompts[2].ids, (std::vector<std::int64_t>{5, 17, 3}));
  EXPECT_EQ(file.prompts[2].token_types, (std::vector<std::int64_t>{0, 0, 1}));
}

TEST_F(PromptFiles, BadJsonLinesNameTheLine) {
  const std::string good = "{\"text\": \"one\"}\n";
  for (const char* bad :
       {"{\"text\": 5}", "{\"text\": \"x\"", "[1]", "\"x\"", "{}", "{\"ids\": []}",
        "{\"ids\": [1.5]}", "{\"ids\": [-1]}", "{\"text\": \"x\", \"prompt\": \"y\"}",
        "{\"text\": \"x\", \"ids\": [1]}", "{\"text\": \"x\", \"token_types\": [1]}",
        "{\"ids\": [1, 2], \"token_types\": [1]}", "{\"text\": \"\\ud800\"}",
        "{\"text\": \"x\", \"text\": \"y\"}", "{\"text\": NaN}"}) {
    const std::string text = message("a.jsonl", good + bad + "\n" + good);
    EXPECT_NE(text.find("a.jsonl:2"), std::string::npos) << bad << " → " << text;
  }
}

TEST_F(PromptFiles, SkipBadKeepsTheRestAndCounts) {
  const auto file = read("a.jsonl", "{\"text\": \"one\"}\nrubbish\n{\"text\": \"two\"}\n{\n",
                         {.bad_lines = BadLines::skip});
  ASSERT_EQ(file.prompts.size(), 2u);
  EXPECT_EQ(file.prompts[1].text, "two");
  ASSERT_EQ(file.skipped.size(), 2u);
  EXPECT_EQ(file.skipped[0].line, 2);
  EXPECT_EQ(file.skipped[1].line, 4);
}

TEST_F(PromptFiles, CsvQuotesAndLineBreaks) {
  const auto file = read("a.csv",
                         "group,text,note\r\n"
                         "1,\"a, \"\"b\"\"\r\nc\",x\r\n"
                         "\r\n"
                         "2,plain,\r\n"
                         "3,\"\",\"y\"");
  ASSERT_EQ(file.prompts.size(), 3u);
  EXPECT_EQ(file.prompts[0].text, "a, \"b\"\r\nc");
  EXPECT_EQ(file.prompts[0].columns, (std::vector<Column>{{"group", "1"}, {"note", "x"}}));
  EXPECT_EQ(file.prompts[0].line, 2);
  EXPECT_EQ(file.prompts[1].text, "plain");
  EXPECT_EQ(file.prompts[1].line, 5);
  EXPECT_EQ(file.prompts[1].columns[1], (Column{"note", ""}));
  EXPECT_EQ(file.prompts[2].text, "");
}

TEST_F(PromptFiles, TsvSplitsAtTabs) {
  const auto file = read("a.tsv", "prompt\tids\na, b\t\n\t1, 2\n");
  EXPECT_EQ(file.prompts[0].text, "a, b");
  EXPECT_EQ(*file.prompts[1].ids, (std::vector<std::int64_t>{1, 2}));
}

TEST_F(PromptFiles, BadTablesSayWhy) {
  EXPECT_NE(message("a.csv", "a,b\n1,2\n").find("text, prompt or ids"), std::string::npos);
  EXPECT_NE(message("a.csv", "").find("header"), std::string::npos);
  EXPECT_NE(message("a.csv", "text,text\n").find("twice"), std::string::npos);
  EXPECT_NE(message("a.csv", "text,b\nx\n").find("a.csv:2"), std::string::npos);
  EXPECT_NE(message("a.csv", "text\n\"x\n").find("never closed"), std::string::npos);
  EXPECT_NE(message("a.csv", "text\n\"x\"y\n").find("closing quote"), std::string::npos);
  EXPECT_NE(message("a.csv", "text\n").find("no prompts"), std::string::npos);
}

TEST_F(PromptFiles, KindAndSizeAreChecked) {
  EXPECT_NE(message("a.json", "{}").find(".jsonl"), std::string::npos);
  EXPECT_NE(message("a", "x").find("no suffix"), std::string::npos);
  EXPECT_THROW(read_prompt_file(folder_.file("absent.txt"), {}), Error);
  EXPECT_THROW(read_prompt_file(folder_.path(), {}), Error);
  try {
    read("big.txt", "0123456789", {.max_file_bytes = 9});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_code(), 4);
  }
  try {
    read("long.txt", "ok\n" + std::string(3 << 20, 'x'), {.max_line_bytes = 1 << 20});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_code(), 4);
    EXPECT_NE(std::string(e.what()).find("line 2"), std::string::npos);
  }
}

// Whoever reads line by line gets it too.
TEST_F(PromptFiles, AFileWithoutPromptsIsAnErrorForEveryReader) {
  for (const char* name : {"a.txt", "a.jsonl"}) {
    PromptReader reader(write(name, ""), {});
    Prompt prompt;
    try {
      reader.next(prompt);
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), "PR03");
      EXPECT_EQ(e.exit_code(), 2);
    }
  }
}

TEST_F(PromptFiles, SkippedLinesAreCountedInWords) {
  EXPECT_EQ(describe_skipped({{7, "no"}}),
            "1 bad line of the prompt file is left out; the first is line 7: no");
  EXPECT_EQ(describe_skipped({{9, "no"}, {3, "bad"}}),
            "2 bad lines of the prompt file are left out; the first is line 3: bad");
}

TEST_F(PromptFiles, HashIsThatOfTheFile) {
  // printf 'abc\n' | sha256sum
  EXPECT_EQ(read("a.txt", "abc\n").sha256,
            "edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb");
}

}  // namespace
}  // namespace attnscope
