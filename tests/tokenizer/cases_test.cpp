// Every normalizer, pre-tokenizer, model, post-processor, decoder and option, each against what
// the reference library gave (fixtures/tokenizers/cases.json).
#include <gtest/gtest.h>

#include "testing/fixtures.h"
#include "tokenizer_files.h"

namespace attnscope {
namespace {

using nlohmann::json;

json flat_offsets(const Encoding& encoding) {
  json out = json::array();
  for (const CharSpan& span : encoding.offsets) {
    out.push_back(span.begin);
    out.push_back(span.end);
  }
  return out;
}

bool all_zero(const std::vector<std::int64_t>& values) {
  for (const std::int64_t v : values) {
    if (v != 0) return false;
  }
  return true;
}

void expect_result(const Tokenizer& tokenizer, const Encoding& encoding, const json& result) {
  EXPECT_EQ(json(encoding.ids), result[0]);
  EXPECT_EQ(flat_offsets(encoding), result[1]);
  if (all_zero(encoding.token_types)) {
    EXPECT_TRUE(result[2].empty());
  } else {
    EXPECT_EQ(json(encoding.token_types), result[2]);
  }
  if (!result[3].is_null()) {
    EXPECT_EQ(tokenizer.decode(encoding.ids), result[3]);
  }
}

TEST(TokenizerCases, EqualTheReferenceLibrary) {
  const json fixture = testing::read_json(testing::fixture("tokenizers/cases.json"));
  const json tiny = testing::read_json(testing::fixture("models/tiny-random-gpt2/tokenizer.json"));
  ASSERT_GT(fixture["cases"].size(), 100u);
  for (const json& test : fixture["cases"]) {
    SCOPED_TRACE(test["name"].get<std::string>());
    const std::string base = test["base"];
    json file = base == "tiny-random-gpt2" ? tiny : fixture["bases"][base];
    file.update(test["changes"]);
    const Tokenizer tokenizer = testing::tokenizer_from(file);
    std::size_t at = 0;
    for (const json& text : fixture["texts"]) {
      SCOPED_TRACE(text.dump());
      expect_result(tokenizer, tokenizer.encode(text.get<std::string>()), test["results"][at++]);
    }
    for (const json& pair : fixture["pairs"]) {
      SCOPED_TRACE(pair.dump());
      expect_result(tokenizer,
                    tokenizer.encode_pair(pair[0].get<std::string>(), pair[1].get<std::string>()),
                    test["results"][at++]);
    }
  }
}

}  // namespace
}  // namespace attnscope
