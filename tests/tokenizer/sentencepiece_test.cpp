// Unigram models against sentencepiece itself: every line of a book.
#include <gtest/gtest.h>

#include "attnscope/support/text.h"
#include "testing/fixtures.h"
#include "tokenizer_files.h"

namespace attnscope {
namespace {

using nlohmann::json;

TEST(Sentencepiece, EveryLineOfABook) {
  if (!testing::material("")) GTEST_SKIP() << testing::kNoMaterial;
  const json fixture = testing::read_json(testing::fixture("tokenizers/sentencepiece.json"));
  const std::string text =
      testing::read_file(*testing::material("tokenizers/" + fixture["text"].get<std::string>()));
  const std::vector<std::string> lines = split(text, '\n');
  const std::size_t block = fixture["block"];
  ASSERT_EQ(fixture["models"].size(), 3u);
  for (const json& model : fixture["models"]) {
    SCOPED_TRACE(model["model"].get<std::string>());
    const Tokenizer tokenizer =
        Tokenizer::load(*testing::converted("unigram", {model["model"].get<std::string>()}), "");
    EXPECT_EQ(tokenizer.vocab_size(), model["pieces"]);
    for (std::size_t i = 0; i < model["first"].size(); ++i) {
      EXPECT_EQ(json(tokenizer.encode(lines[i]).ids), model["first"][i]) << lines[i];
    }
    std::string ids;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::vector<std::string> numbers;
      for (const std::int64_t id : tokenizer.encode(lines[i]).ids) {
        numbers.push_back(std::to_string(id));
      }
      if (i % block != 0) ids += "\n";
      ids += join(numbers, " ");
      if ((i + 1) % block == 0 || i + 1 == lines.size()) {
        EXPECT_EQ(testing::short_hash(ids), model["hashes"][i / block])
            << "lines " << i / block * block << " to " << i;
        ids.clear();
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
