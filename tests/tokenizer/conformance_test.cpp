// Published results of real tokenizers, whose vocabularies the larger test material holds.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "attnscope/support/text.h"
#include "testing/fixtures.h"
#include "tokenizer_files.h"

namespace attnscope {
namespace {

using nlohmann::json;
using testing::converted;
using testing::material;

const std::vector<std::string> kGpt2Files = {"gpt2/encoder.json", "gpt2/vocab.bpe"};
const std::vector<std::string> kBertFiles = {"bert/bert-base-uncased-vocab.txt"};
const std::vector<std::string> kLlamaFiles = {"gguf/ggml-vocab-llama-spm.gguf"};

constexpr std::string_view kCleanUp = R"({"clean_up_tokenization_spaces": true})";

struct Set {
  std::string name;
  std::string kind;
  std::vector<std::string> inputs;
  // What the model's tokenizer_config.json says where it matters for decoding.
  std::string_view config;
};

std::optional<Tokenizer> load(const Set& set) {
  const auto path = converted(set.kind, set.inputs);
  if (!path) return std::nullopt;
  return Tokenizer::parse(testing::read_file(*path), set.config, *path);
}

json conformance(const std::string& file) {
  return testing::read_json(*material("tokenizers/conformance/" + file));
}

// 56 texts in many scripts.
TEST(Conformance, MultilingualTexts) {
  if (!material("")) GTEST_SKIP() << testing::kNoMaterial;
  std::map<std::string, std::string> texts;
  for (const json& input : conformance("inputs.json")) texts[input["id"]] = input["text"];
  for (const Set& set : {Set{"gpt2_multilingual.json", "gpt2", kGpt2Files, ""},
                         Set{"bge_small_multilingual.json", "bert", kBertFiles, ""},
                         Set{"tinyllama_multilingual.json", "llama", kLlamaFiles, ""}}) {
    SCOPED_TRACE(set.name);
    const Tokenizer tokenizer = *load(set);
    const json entries = conformance(set.name)["entries"];
    ASSERT_EQ(entries.size(), 56u);
    for (const json& entry : entries) {
      SCOPED_TRACE(entry["id"].get<std::string>());
      const Encoding encoding = tokenizer.encode(texts.at(entry["id"]));
      EXPECT_EQ(json(encoding.ids), entry["input_ids"]);
      EXPECT_EQ(json(encoding.pieces), entry["tokens"]);
      EXPECT_EQ(tokenizer.decode(encoding.ids), entry["decoded_skip_special"]);
      EXPECT_EQ(tokenizer.decode(encoding.ids, SpecialTokens::add), entry["decoded_with_special"]);
    }
  }
}

TEST(Conformance, ShortTexts) {
  if (!material("")) GTEST_SKIP() << testing::kNoMaterial;
  const json sets = conformance("tokenizer_tests.json");
  for (const Set& set : {Set{"bert-base-uncased", "bert", kBertFiles, kCleanUp},
                         Set{"google-bert/bert-base-uncased", "bert", kBertFiles, kCleanUp},
                         Set{"distilgpt2", "gpt2", kGpt2Files, kCleanUp},
                         Set{"coreml-projects/Llama-2-7b-chat-coreml", "llama", kLlamaFiles, ""}}) {
    SCOPED_TRACE(set.name);
    const Tokenizer tokenizer = *load(set);
    ASSERT_EQ(sets[set.name].size(), 18u);
    for (const json& entry : sets[set.name]) {
      SCOPED_TRACE(entry["input"].get<std::string>());
      const Encoding encoding = tokenizer.encode(entry["input"].get<std::string>());
      EXPECT_EQ(json(encoding.ids), entry["encoded"]["input_ids"]);
      EXPECT_EQ(tokenizer.decode(encoding.ids), entry["decoded_without_special"]);
      EXPECT_EQ(tokenizer.decode(encoding.ids, SpecialTokens::add), entry["decoded_with_special"]);
    }
  }
}

// One French paragraph with line breaks and accents.
TEST(Conformance, Paragraph) {
  if (!material("")) GTEST_SKIP() << testing::kNoMaterial;
  for (const Set& set : {Set{"bert_uncased_encoded.json", "bert", kBertFiles, kCleanUp},
                         Set{"gpt2_encoded_tokens.json", "gpt2", kGpt2Files, ""},
                         Set{"llama_encoded.json", "llama", kLlamaFiles, ""}}) {
    SCOPED_TRACE(set.name);
    const json entry = conformance(set.name);
    const Tokenizer tokenizer = *load(set);
    const Encoding encoding = tokenizer.encode(entry["text"].get<std::string>());
    EXPECT_EQ(json(encoding.ids), entry["token_ids"]);
    EXPECT_EQ(tokenizer.decode(encoding.ids, SpecialTokens::add), entry["decoded_text"]);
  }
}

// Vectors of another implementation: texts, and their ids without special tokens.
TEST(Conformance, VectorsOfAnotherImplementation) {
  if (!material("")) GTEST_SKIP() << testing::kNoMaterial;
  for (const Set& set :
       {Set{"gpt-2", "gpt2", kGpt2Files, ""}, Set{"bert-bge", "bert", kBertFiles, ""},
        Set{"llama-spm", "llama", kLlamaFiles, ""}}) {
    SCOPED_TRACE(set.name);
    const std::string stem = "tokenizers/gguf/ggml-vocab-" + set.name + ".gguf";
    const std::string inputs = testing::read_file(*material(stem + ".inp"));
    std::istringstream outputs(testing::read_file(*material(stem + ".out")));
    const Tokenizer tokenizer = *load(set);
    const std::string separator = "\n__ggml_vocab_test__\n";
    std::size_t count = 0;
    std::string line;
    for (std::size_t pos = 0; pos <= inputs.size(); ++count) {
      const std::size_t end = std::min(inputs.find(separator, pos), inputs.size());
      const std::string text = inputs.substr(pos, end - pos);
      pos = end + separator.size();
      // The last line, which is empty, may have no end.
      if (!std::getline(outputs, line)) line.clear();
      std::vector<std::int64_t> ids;
      std::istringstream numbers(line);
      for (std::int64_t id = 0; numbers >> id;) ids.push_back(id);
      EXPECT_EQ(tokenizer.encode(text, {.specials = SpecialTokens::skip}).ids, ids) << text;
    }
    EXPECT_EQ(count, 47u);
  }
}

}  // namespace
}  // namespace attnscope
