// Hard texts and pairs, against results that the reference library gave for three real tokenizers.
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/fixtures.h"
#include "tokenizer_files.h"

namespace attnscope {
namespace {

using nlohmann::json;
using testing::fixture;
using testing::offsets_of;

void expect_text(const Tokenizer& tokenizer, const json& entry) {
  const std::string text = entry["text"];
  const Encoding plain = tokenizer.encode(text, {.specials = SpecialTokens::skip});
  EXPECT_EQ(json(plain.ids), entry["ids"]);
  EXPECT_EQ(json(plain.pieces), entry["tokens"]);
  EXPECT_EQ(offsets_of(plain), entry["offsets"]);
  const Encoding whole = tokenizer.encode(text);
  EXPECT_EQ(json(whole.ids), entry["ids_special"]);
  EXPECT_EQ(json(whole.token_types), entry["type_ids"]);
  EXPECT_EQ(json(whole.special), entry["special_mask"]);
  EXPECT_EQ(tokenizer.decode(whole.ids), entry["decoded"]);
  EXPECT_EQ(tokenizer.decode(whole.ids, SpecialTokens::add), entry["decoded_special"]);
}

void expect_pair(const Tokenizer& tokenizer, const json& entry) {
  const Encoding pair =
      tokenizer.encode_pair(entry["text"].get<std::string>(), entry["pair"].get<std::string>());
  EXPECT_EQ(json(pair.ids), entry["ids_special"]);
  EXPECT_EQ(json(pair.pieces), entry["tokens_special"]);
  EXPECT_EQ(offsets_of(pair), entry["offsets_special"]);
  EXPECT_EQ(json(pair.token_types), entry["type_ids"]);
  EXPECT_EQ(json(pair.special), entry["special_mask"]);
}

void expect_oracle(const Tokenizer& tokenizer, const std::string& oracle) {
  const json entries = testing::read_json(fixture("tokenizers/" + oracle))["entries"];
  ASSERT_EQ(entries.size(), 43u);
  for (const json& entry : entries) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    if (entry.contains("pair")) {
      expect_pair(tokenizer, entry);
    } else {
      expect_text(tokenizer, entry);
    }
  }
}

TEST(TokenizerOracle, ByteLevelBpe) {
  expect_oracle(Tokenizer::load(fixture("models/tiny-random-gpt2/tokenizer.json"), ""),
                "oracle_tiny-random-gpt2.json");
}

TEST(TokenizerOracle, WordPiece) {
  expect_oracle(Tokenizer::load(fixture("tokenizers/minilm/tokenizer.json"), ""),
                "oracle_minilm.json");
}

// Single digits before the byte level, and bytes that the vocabulary cannot spell, which vanish.
TEST(TokenizerOracle, ByteLevelBpeOfARealModel) {
  const auto folder = testing::real_model("smollm2");
  if (!folder) GTEST_SKIP() << "ATTNSCOPE_MODELS is not set; it names a folder with smollm2/ in it";
  const Tokenizer tokenizer = Tokenizer::load(*folder + "/tokenizer.json", "");
  EXPECT_EQ(tokenizer.vocab_size(), 49152u);
  expect_oracle(tokenizer, "oracle_smollm2.json");
}

}  // namespace
}  // namespace attnscope
