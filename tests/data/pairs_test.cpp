#include "attnscope/data/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "attnscope/support/error.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using Ids = std::vector<std::int64_t>;
using Ints = std::vector<int>;

// Whole words, "ĠMartin", or bytes; a begin token in front.
const Tokenizer& words() {
  static const Tokenizer loaded =
      Tokenizer::load(testing::fixture("../../probes/demo/tiny-english/tokenizer.json"), "");
  return loaded;
}

std::int64_t word(const std::string& piece) {
  const auto id = words().id("\xC4\xA0" + piece);
  EXPECT_TRUE(id) << piece;
  return id.value_or(-1);
}

class Pairs : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) {
    const std::string path = folder_.file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  PairSet read(const std::string& name, std::string_view content, const PairOptions& options = {}) {
    warnings_ = {};
    return read_pairs(write(name, content), &words(), options, warnings_);
  }
  // The message of the error that reading gives.
  std::string message(const std::string& name, std::string_view content,
                      const PairOptions& options = {}, int exit_code = 2) {
    try {
      read(name, content, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), exit_code) << error.what();
      const std::string text = error.what();
      EXPECT_NE(text.find(name), std::string::npos) << text;
      return text;
    }
    ADD_FAILURE() << "no error for " << content;
    return "";
  }
  void expect_warning(const std::string& part) const {
    for (const std::string& line : warnings_.lines()) {
      if (line.find(part) != std::string::npos) return;
    }
    ADD_FAILURE() << "no warning with " << part << " among " << warnings_.lines().size();
  }

  testing::TempFolder folder_;
  Warnings warnings_;
};

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

constexpr const char* kPlain =
    R"({"clean": "Today Frank is with Martin", "corrupt": "Today Martin is with Martin", )"
    R"("answer": " Frank", "wrong": " Martin", "group": "g", "subject": "Frank", "n": 3})";

TEST_F(Pairs, JsonLinesGiveTokensAnswersGroupsAndColumns) {
  const PairSet set = read("p.jsonl", std::string(kPlain) + "\n\n" + kPlain + "\n");
  ASSERT_EQ(set.pairs.size(), 2U);
  const EncodedPair& pair = set.pairs[1];
  EXPECT_EQ(pair.clean.ids,
            (Ids{0, word("Today"), word("Frank"), word("is"), word("with"), word("Martin")}));
  ASSERT_TRUE(pair.corrupt);
  EXPECT_EQ(pair.corrupt->ids[2], word("Martin"));
  EXPECT_EQ(pair.answers, Ids{word("Frank")});
  EXPECT_EQ(pair.wrongs, Ids{word("Martin")});
  EXPECT_EQ(pair.group, "g");
  EXPECT_EQ(pair.line, 3);
  EXPECT_EQ(pair.clean.columns, (std::vector<Column>{{"n", "3"}, {"subject", "Frank"}}));
  EXPECT_EQ(pair.spans.at("subject"), Ints{2});
  EXPECT_FALSE(pair.spans.contains("n"));
  EXPECT_EQ(set.n_clusters, 1);
  EXPECT_EQ(set.sha256.size(), 64U);
  expect_warning("one group");
}

TEST_F(Pairs, TablesTakeTheUsualNamesAndKeepTheRest) {
  for (const auto& [name, separator] : {std::pair{"p.csv", ','}, std::pair{"p.tsv", '\t'}}) {
    std::string text =
        "\xEF\xBB\xBF;Prompt;counterfactual;IO;distractor;template;source\r\n"
        "7;Today Frank is;Today Martin is; with; far;a;Frank\r\n"
        "8;Today Frank is;Today Nina is; with; far;b;\r\n"
        "9;Today Frank is;Today Nina is; with; Nina;;is\r\n";
    std::replace(text.begin(), text.end(), ';', separator);
    const PairSet set = read(name, text);
    ASSERT_EQ(set.pairs.size(), 3U);
    EXPECT_EQ(set.pairs[0].answers, Ids{word("with")});
    EXPECT_EQ(set.pairs[0].wrongs, Ids{word("far")});
    EXPECT_EQ(set.pairs[0].clean.columns,
              (std::vector<Column>{{"column_1", "7"}, {"source", "Frank"}}));
    EXPECT_EQ(set.pairs[0].spans.at("source"), Ints{2});
    EXPECT_FALSE(set.pairs[1].spans.contains("source"));
    EXPECT_EQ(set.pairs[2].spans.at("source"), Ints{3});
    EXPECT_EQ(set.pairs[1].cluster, 1);
    EXPECT_EQ(set.n_clusters, 3);  // a pair without a group is a cluster of its own
    EXPECT_EQ(set.pairs[2].line, 4);
  }
}

std::string id_pair(const std::string& clean, const std::string& corrupt, const std::string& wrong,
                    const std::string& group) {
  return "{\"clean_ids\": " + clean + ", \"corrupt_ids\": " + corrupt +
         ", \"answer_ids\": [7, 8], \"wrong_id\": " + wrong +
         (group.empty() ? "" : ", \"group\": \"" + group + "\"") + "}\n";
}

std::vector<int> clusters(const PairSet& set) {
  std::vector<int> list;
  for (const EncodedPair& pair : set.pairs) list.push_back(pair.cluster);
  return list;
}

// Order and number do not matter; anything else that differs makes other groups.
TEST_F(Pairs, GroupsThatHoldTheSamePairsAreOneCluster) {
  const std::string a[] = {"[1, 2]", "[1, 3]", "9"}, b[] = {"[1, 4]", "[1, 3]", "9"};
  std::string text;
  const auto add = [&](const std::string* pair, const std::string& group) {
    text += id_pair(pair[0], pair[1], pair[2], group);
  };
  add(a, "first");
  add(b, "first");
  add(b, "second");  // the same two, the other way round and one of them twice
  add(a, "second");
  add(a, "second");
  add(a, "part");  // one of them alone
  add(b, "");      // a pair without a group is one of its own
  add(a, "");      // and this one is what "part" holds
  text += id_pair("[1, 2]", "[1, 5]", "9", "corrupt differs");
  text += id_pair("[1, 2]", "[1, 3]", "6", "wrong answer differs");
  const PairSet set = read("p.jsonl", text);
  EXPECT_EQ(clusters(set), (std::vector<int>{0, 0, 0, 0, 0, 1, 2, 1, 3, 4}));
  EXPECT_EQ(set.n_groups, 7);
  EXPECT_EQ(set.n_clusters, 5);
  EXPECT_EQ(set.pairs[4].group, "second");
  expect_warning(
      "2 groups hold exactly the same pairs as an earlier one, and copies are no further draws: 7 "
      "groups count as 5 draws");
  EXPECT_EQ(warnings_.lines().size(), 1U);
}

TEST_F(Pairs, SixtyCopiesAreOneDraw) {
  std::string named, plain;
  for (int n = 0; n < 60; ++n) {
    named += id_pair("[1, 2]", "[1, 3]", "9", "g" + std::to_string(n));
    plain += id_pair("[1, 2]", "[1, 3]", "9", "");
  }
  EXPECT_EQ(read("p.jsonl", named).n_clusters, 1);
  EXPECT_EQ(
      warnings_.lines(),
      (std::vector<std::string>{
          "59 groups hold exactly the same pairs as an earlier one, and copies are no further "
          "draws: 60 groups count as 1 draw, so no interval can be computed"}));
  EXPECT_EQ(read("p.jsonl", plain).n_clusters, 1);
  EXPECT_EQ(warnings_.lines(),
            (std::vector<std::string>{
                "59 pairs hold exactly what an earlier one holds, and copies are no further draws: "
                "60 pairs count as 1 draw, so no interval can be computed"}));
}

TEST_F(Pairs, ListsOfAnswersAndIds) {
  const PairSet set =
      read("p.jsonl", R"({"clean": "Today", "answers": [" Frank", " Nina", " Frank"],)"
                      R"( "wrong_answers": [" is"]})"
                      "\n"
                      R"({"clean_ids": [0, 5], "answer_id": 7, "wrong_ids": [8, 9]})");
  EXPECT_EQ(set.pairs[0].answers, (Ids{word("Frank"), word("Nina")}));
  EXPECT_EQ(set.pairs[1].clean.ids, (Ids{0, 5}));
  EXPECT_EQ(set.pairs[1].answers, Ids{7});
  EXPECT_EQ(set.pairs[1].wrongs, (Ids{8, 9}));
  // No tokenizer is needed where everything is ids, in a table as well.
  const PairSet blind =
      read_pairs(write("p.csv", "ids,corrupt_ids,answer_id,wrong_id\n\"0,5\",0 6,7,8\n"), nullptr,
                 {}, warnings_);
  EXPECT_EQ(blind.pairs[0].corrupt->ids, (Ids{0, 6}));
  EXPECT_EQ(blind.pairs[0].wrongs, Ids{8});
}

TEST_F(Pairs, AutoCircuitsDocuments) {
  const std::string head =
      R"({"seq_labels": ["Today", "Mary", "is"], "word_idxs": {"IO": 1, "end": 2}, "prompts": [)";
  const PairSet set =
      read("p.json", head + R"({"clean": "Today Frank is", "corrupt": "Today Nina is",)"
                            R"( "answers": [" with"], "wrong_answers": [" far"]},)"
                            R"({"clean": "Today Frank is is", "corrupt":)"
                            R"( "Today Nina is is", "answers": [" with"],)"
                            R"( "wrong_answers": [" far"]}]})");
  ASSERT_EQ(set.pairs.size(), 2U);
  // The begin token is not counted by the file, and is by us.
  EXPECT_EQ(set.pairs[0].spans.at("IO"), Ints{2});
  EXPECT_EQ(set.pairs[0].spans.at("end"), Ints{3});
  EXPECT_TRUE(set.pairs[1].spans.empty());
  expect_warning("word_idxs left out for 1 pair");
  const PairSet ids =
      read("q.json",
           R"([{"clean": [3, 0, 1], "corrupt": [3, 0, 2], "answers": [5], "wrong_answers": [6]}])");
  EXPECT_EQ(ids.pairs[0].clean.ids, (Ids{3, 0, 1}));
  EXPECT_EQ(ids.pairs[0].answers, Ids{5});
  EXPECT_CONTAINS(
      message("r.json", R"({"prompts": [{"clean": [3], "answers": [[0], [1]], "wrong": [2]}]})"),
      "prompt 1: column \"answers\": a list for each position");
  EXPECT_CONTAINS(message("r.json", R"({"pairs": []})"), "\"prompts\"");
  EXPECT_CONTAINS(message("r.json", R"({"prompts": 3})"), "a list of pairs");
  EXPECT_CONTAINS(message("r.json", "3"), "a list of pairs");
  EXPECT_CONTAINS(message("r.json", R"({"prompts": [)"), "not valid JSON");
  EXPECT_CONTAINS(message("r.json", R"({"prompts": [], "word_idxs": {"a": -1}})"), "word_idxs.a");
}

TEST_F(Pairs, IdsOfAnotherTokenizerAreRefusedUnlessAllowed) {
  const std::string text =
      ",clean,corrupted,correct_idx,incorrect_idx\n"
      "470,Today Frank is,Today Nina is,30,31\n";
  EXPECT_CONTAINS(message("e.csv", text), "\"correct_idx\" and \"incorrect_idx\"");
  EXPECT_CONTAINS(message("e.csv", text), "--answer-ids");
  EXPECT_CONTAINS(message("e.jsonl", R"({"clean": "Today", "correct_idx": 3, "incorrect_idx": 4})",
                          {.skip_bad = true}),
                  "[PA07]");
  const PairSet set = read("e.csv", text, {.foreign_ids = true});
  EXPECT_EQ(set.pairs[0].answers, Ids{30});
  EXPECT_EQ(set.pairs[0].wrongs, Ids{31});
  // A text beside them needs no permission, and no answers are needed where none are read.
  EXPECT_EQ(read("f.csv", "clean,answer,wrong,correct_idx\nToday, is, far,3\n").pairs[0].answers,
            Ids{word("is")});
  EXPECT_EQ(read("e.csv", text, {.answers = AnswerUse::unused}).pairs.size(), 1U);
  EXPECT_CONTAINS(message("e.csv", text, {.foreign_ids = true, .vocabulary = 31}), "0 to 30");
  // Nobody should have to guess which of two answers is measured.
  EXPECT_CONTAINS(
      message("e.csv", "clean,answer,wrong,correct_idx\nab,a,b,5\n", {.foreign_ids = true}),
      "has another answer beside the ids that --answer-ids asks for");
  EXPECT_CONTAINS(message("e.csv", "clean,answer,wrong\nab,a,b\n", {.foreign_ids = true}),
                  "has no ids, which --answer-ids asks for");
}

TEST_F(Pairs, WhatIsMissingIsNamed) {
  EXPECT_CONTAINS(message("m.csv", "clean,corrupted,label\na,b,52\n"),
                  "has no answer, which this metric needs; expected a column answer or answer_id; "
                  "got \"clean\", \"corrupted\", \"label\"");
  EXPECT_CONTAINS(message("m.csv", "clean,answer\nToday, is\n"), "has no wrong answer");
  EXPECT_CONTAINS(message("m.csv", "answer,wrong\n a, b\n"), "has no clean prompt");
  EXPECT_CONTAINS(
      message("m.csv", "clean,answer,wrong\nToday, is, far\n", {.corrupt = CorruptUse::required}),
      "has no corrupt prompt");
  EXPECT_CONTAINS(message("m.csv", "clean,answer,wrong\nToday,, far\n"),
                  "m.csv:2: has no answer, which this metric needs: column \"answer\" is empty");
  EXPECT_CONTAINS(message("m.jsonl", R"({"clean": "", "answer": " is", "wrong": " far"})"),
                  "m.jsonl:1: has no clean prompt: column \"clean\" is empty");
  EXPECT_CONTAINS(message("m.jsonl", R"({"Prompt": null, "answer": " is", "wrong": " far"})"),
                  "has no clean prompt: column \"Prompt\" is empty");
  EXPECT_CONTAINS(message("m.jsonl", R"({"clean": "Today", "answer": " is", "wrong": ""})"),
                  "has no wrong answer, which this metric needs: column \"wrong\" is empty");
  EXPECT_CONTAINS(
      message("m.csv", "clean,corrupt,answer,wrong\nToday,, is, far\n",
              {.corrupt = CorruptUse::required}),
      "has no corrupt prompt, which this experiment needs: column \"corrupt\" is empty");
  EXPECT_CONTAINS(message("m.csv", "clean,label\nToday,\n", {.answers = AnswerUse::label}),
                  "has no label, which this metric needs: column \"label\" is empty");
  EXPECT_CONTAINS(message("m.jsonl", R"({"clean": "Today", "wrong": " is"})"),
                  "m.jsonl:1: has no a");
  EXPECT_CONTAINS(message("m.csv", "clean\nToday\n", {.answers = AnswerUse::label}), "no label");
  EXPECT_CONTAINS(message("m.csv", "clean,label\nToday,yes\n", {.answers = AnswerUse::label}),
                  "expected a class number from 0, got \"yes\"");
  EXPECT_EQ(read("m.csv", "clean,label\nToday,2\n", {.answers = AnswerUse::label}).pairs[0].label,
            2);
}

TEST_F(Pairs, SomeCorruptPromptsAndSomeNoneAreRefused) {
  const std::string text = "clean,corrupt,answer,wrong\nToday,Nina, is, far\nToday,, is, far\n";
  EXPECT_CONTAINS(message("m.csv", text), "none in line 3");
  EXPECT_EQ(read("m.csv", text, {.corrupt = CorruptUse::unused}).pairs.size(), 2U);
}

TEST_F(Pairs, AnswersThatAreNoContinuationAreRefusedWithAHint) {
  const auto with = [&](const std::string& answer) {
    return message("a.jsonl", R"({"clean": "Today Frank is with", "wrong": " is", "answer": ")" +
                                  answer + "\"}");
  };
  EXPECT_CONTAINS(with("Martin"), "did you mean \" Martin\"?");
  EXPECT_CONTAINS(with("Martin"), "ends in the token \" with\"");
  EXPECT_CONTAINS(with(" is"), "the answer and the wrong answer are the same");
  EXPECT_CONTAINS(
      message("a.jsonl", R"({"clean": "Today is ", "answer": "Frank", "wrong": "Nina"})"),
      "leave out the space at the end of the prompt");
}

TEST_F(Pairs, OnlyTheFirstTokenOfALongAnswerCounts) {
  const PairSet set =
      read("a.jsonl", R"({"clean": "Today", "answer": " is far", "wrong": " Nina"})");
  EXPECT_EQ(set.pairs[0].answers, Ids{word("is")});
  EXPECT_EQ(set.multi_token_answers, 1);
  expect_warning("\" is far\" has 2, the first is");
  EXPECT_CONTAINS(
      message("a.jsonl", R"({"clean": "Today", "answer": " is far", "wrong": " is Nina"})"),
      "begin with the same token");
}

TEST_F(Pairs, AMissingSpaceThatMakesAnotherTokenIsPointedOut) {
  // After a full stop the letters of a word are tokens of their own, and " Frank" is one token.
  read("a.jsonl", R"({"clean": "Today.", "answer": "Frank", "wrong": " is"})");
  expect_warning("\" Frank\" would be the token " + std::to_string(word("Frank")));
}

TEST_F(Pairs, MisalignedPairsShowBothTokenisations) {
  const std::string text =
      R"({"clean": "Today Frank is", "corrupt": "Today is", "answer": " with",)"
      R"( "wrong": " far"})"
      "\n" +
      std::string(kPlain) + "\n";
  const std::string error = message("a.jsonl", text);
  EXPECT_CONTAINS(error, "[PA04]");
  EXPECT_CONTAINS(error, "4 and 3 tokens, different from token 2 on");
  EXPECT_CONTAINS(error, "clean <|begin|>|Today| Frank| is and corrupt <|begin|>|Today| is");
  EXPECT_CONTAINS(error, "--skip-misaligned");
  const PairSet set = read("a.jsonl", text, {.misaligned = Misaligned::skip});
  EXPECT_EQ(set.pairs.size(), 1U);
  EXPECT_EQ(set.misaligned, 1);
  expect_warning("1 pair left out");
  EXPECT_EQ(read("a.jsonl", text, {.corrupt = CorruptUse::unused}).pairs.size(), 2U);
  EXPECT_CONTAINS(
      message("a.jsonl", text.substr(0, text.find('\n')), {.misaligned = Misaligned::skip}),
      "no pair of the file aligns");
}

TEST_F(Pairs, BadLinesStopOrAreCounted) {
  for (const char* bad :
       {"[]", "3", "{\"clean\": 3}", "{\"clean\": \"a\", \"clean\": \"b\"}", "{\"clean\": \"a\"",
        "{\"clean\": \"a\", \"prompt\": \"b\"}", "{\"clean\": \"a\\ud800\"}", "\xFF",
        "{\"clean\": \"Today\", \"answer\": 5, \"wrong\": \" is\"}",
        "{\"clean\": \"Today\", \"answer\": [\" is\", 5], \"wrong\": \" is\"}",
        "{\"clean\": \"Today\", \"answer\": [], \"wrong\": \" is\"}",
        "{\"clean\": \"Today\", \"answer\": \" is\", \"answer_id\": 4, \"wrong\": \" far\"}",
        "{\"clean_ids\": [0, -1], \"answer_id\": 5, \"wrong_id\": 6}",
        "{\"clean_ids\": [0, 1.5], \"answer_id\": 5, \"wrong_id\": 6}",
        "{\"clean_ids\": [0, 18446744073709551615], \"answer_id\": 5, \"wrong_id\": 6}",
        "{\"clean_ids\": [], \"answer_id\": 5, \"wrong_id\": 6}",
        "{\"clean_ids\": [1], \"answer_id\": 5, \"wrong_id\": 611}",
        "{\"clean_ids\": [1], \"answer\": \" is\", \"wrong_id\": 6}",
        "{\"clean\": \"x\", \"clean_ids\": [1], \"answer_id\": 5, \"wrong_id\": 6}"}) {
    EXPECT_CONTAINS(message("b.jsonl", std::string(bad) + "\n" + kPlain), "b.jsonl:1: ");
    const PairSet set = read("b.jsonl", std::string(bad) + "\n" + kPlain, {.skip_bad = true});
    EXPECT_EQ(set.pairs.size(), 1U) << bad;
    EXPECT_EQ(set.bad_lines, 1) << bad;
    expect_warning("1 bad line of the pairs file left out; the first is ");
  }
  EXPECT_CONTAINS(message("b.csv", "clean,answer,wrong\nToday, is\n"),
                  "b.csv:2: expected 3 fields");
  EXPECT_CONTAINS(message("b.csv", "clean,answer,wrong\n\"Today, is\n"), "never closed");
}

TEST_F(Pairs, FilesThatHoldNothing) {
  EXPECT_CONTAINS(message("e.jsonl", ""), "the file has no pairs");
  EXPECT_CONTAINS(message("e.jsonl", "\n \n\r\n"), "the file has no pairs");
  EXPECT_CONTAINS(message("e.csv", ""), "the file is empty");
  EXPECT_CONTAINS(message("e.csv", "clean,answer,wrong\n\n"), "the file has no pairs");
  EXPECT_CONTAINS(message("e.json", "[]"), "the file has no pairs");
  EXPECT_CONTAINS(message("e.jsonl", "x\ny\n", {.skip_bad = true}),
                  "no line of the file can be used");
  EXPECT_CONTAINS(message("e.jsonl", ""), "expected at least one pair");
  EXPECT_CONTAINS(message("e.jsonl", ""), "see \"Pairs files\"");
  EXPECT_CONTAINS(message("e.jsonl", "x\ny\n", {.skip_bad = true}), "mend that line");
  EXPECT_CONTAINS(message("e.csv", "clean,clean\n"), "column \"clean\" twice");
  EXPECT_CONTAINS(message("e.csv", "prompt,clean\n"), "mean the same");
}

TEST_F(Pairs, KindsOfFiles) {
  EXPECT_CONTAINS(message("p.txt", kPlain), ".jsonl, .csv, .tsv or .json");
  EXPECT_CONTAINS(message("p.json.gz", "x"), "gunzip");
  try {
    read_pairs(folder_.file("absent.jsonl"), &words(), {}, warnings_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
  }
}

TEST_F(Pairs, ALineAboveTheLimitIsRefused) {
  const std::string text = "{\"clean\": \"" + std::string((65U << 20), 'x') + "\"}\n";
  EXPECT_CONTAINS(message("h.jsonl", text, {}, 4), "line 1 is too long");
}

TEST_F(Pairs, TheLimitCountsPairsThatAreUsed) {
  const std::string misaligned =
      R"({"clean": "Today Frank", "corrupt": "Today", "answer": " is", "wrong": " far"})";
  const std::string text = misaligned + "\n" + kPlain + "\n" + kPlain + "\nnot read\n";
  const PairSet set = read("l.jsonl", text, {.misaligned = Misaligned::skip, .limit = 2});
  EXPECT_EQ(set.pairs.size(), 2U);
  EXPECT_EQ(set.misaligned, 1);
}

TEST_F(Pairs, ACorruptPromptThatIsTheCleanOneIsPointedOut) {
  read("s.jsonl", R"({"clean": "Today", "corrupt": "Today", "answer": " is", "wrong": " far"})");
  expect_warning("1 pair whose corrupt prompt is the clean one");
}

TEST_F(Pairs, IdsBeyondTheVocabularyAreRefused) {
  const std::string text = R"({"clean_ids": [0, 40], "answer_id": 5, "wrong_id": 6})";
  EXPECT_CONTAINS(message("v.jsonl", text, {.vocabulary = 40}), "[PA06]");
  EXPECT_EQ(read("v.jsonl", text, {.vocabulary = 41}).pairs.size(), 1U);
}

TEST_F(Pairs, OptionalAnswersMayBeAbsent) {
  const PairOptions options = {.corrupt = CorruptUse::unused, .answers = AnswerUse::optional};
  const PairSet set = read("o.jsonl",
                           R"({"clean": "Today"})"
                           "\n" +
                               std::string(kPlain),
                           options);
  EXPECT_TRUE(set.pairs[0].answers.empty());
  EXPECT_EQ(set.pairs[1].answers.size(), 1U);
}

TEST_F(Pairs, InlinePairsAreEncodedTheSameWay) {
  Pair pair;
  pair.clean.text = "Today Frank is with";
  pair.answers = {" Martin"};
  const PairSet set =
      encode_pairs({pair}, "--prompt", &words(), {.answers = AnswerUse::answer}, warnings_);
  EXPECT_EQ(set.pairs[0].answers, Ids{word("Martin")});
  EXPECT_TRUE(warnings_.lines().empty());
  pair.answers = {"Martin"};
  try {
    encode_pairs({pair}, "--prompt", &words(), {.answers = AnswerUse::answer}, warnings_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_CONTAINS(std::string(error.what()), "--prompt: the answer");
  }
}

// A vocabulary of words with a mask, as masked language models have.
constexpr const char* kMasked = R"({
  "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
  "added_tokens": [
    {"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 2, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 3, "content": "[MASK]", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true}],
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
    "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[MASK]": 3, "the": 4, "cat": 5, "sat": 6, ".": 7,
              "##s": 8, "dog": 9}}})";

TEST(MaskedPairs, TheAnswerFillsTheMask) {
  const Tokenizer tokenizer = Tokenizer::parse(kMasked, R"({"mask_token": "[MASK]"})", "test");
  Warnings warnings;
  Pair pair;
  pair.clean.text = "the [MASK] sat .";
  pair.answers = {"cat"};
  pair.wrongs = {" dogs"};
  const auto encode = [&] { return encode_pairs({pair}, "--prompt", &tokenizer, {}, warnings); };
  const PairSet set = encode();
  EXPECT_EQ(set.pairs[0].clean.ids, (Ids{1, 4, 3, 6, 7, 2}));
  EXPECT_EQ(set.pairs[0].mask, 2);
  EXPECT_EQ(set.pairs[0].answers, Ids{5});
  EXPECT_EQ(set.pairs[0].wrongs, Ids{9});
  EXPECT_EQ(set.multi_token_answers, 1);
  const auto text = [&] {
    try {
      encode();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  pair.answers = {"zebra"};
  EXPECT_CONTAINS(text(), "\"zebra\" is no token of this model");
  pair.answers = {""};
  EXPECT_CONTAINS(text(), "is no token of this model");
  pair.clean.text = "the [MASK] sat [MASK]";
  EXPECT_CONTAINS(text(), "several mask tokens");
  pair.clean.text = "the";
  pair.answers = {" cat"};
  const PairSet plain = encode();
  EXPECT_EQ(plain.pairs[0].mask, -1);
  EXPECT_EQ(plain.pairs[0].answers, Ids{5});  // before the separator
}

// KL and the like read the prediction at the mask too, though no answer.
TEST(MaskedPairs, MetricsWithoutAnswersReadTheMask) {
  const Tokenizer tokenizer = Tokenizer::parse(kMasked, R"({"mask_token": "[MASK]"})", "test");
  Warnings warnings;
  const auto mask_of = [&](const std::string& text) {
    Pair pair;
    pair.clean.text = text;
    return encode_pairs({pair}, "--prompt", &tokenizer, {.answers = AnswerUse::unused}, warnings)
        .pairs[0]
        .mask;
  };
  EXPECT_EQ(mask_of("the [MASK] sat ."), 2);
  EXPECT_EQ(mask_of("the cat sat ."), -1);
  EXPECT_EQ(mask_of("the [MASK] sat [MASK]"), -1);
}

// The published sets of the material, as they are.
TEST(PublishedPairs, AreRead) {
  const auto file = testing::material("text/circuits/eapig_ioi_llama.csv");
  const auto years = testing::material("text/circuits/eapig_greater_than_data.csv");
  if (!file) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
  Warnings warnings;
  const PairOptions options = {.answers = AnswerUse::unused, .misaligned = Misaligned::skip};
  const PairSet set = read_pairs(*file, &words(), options, warnings);
  EXPECT_EQ(set.pairs.size() + static_cast<std::size_t>(set.misaligned), 250U);
  EXPECT_EQ(read_pairs(*years, &words(), options, warnings).pairs.size(), 500U);
  EXPECT_THROW(read_pairs(*file, &words(), {}, warnings), Error);
  EXPECT_THROW(read_pairs(*years, &words(), {}, warnings), Error);
}

}  // namespace
}  // namespace attnscope
