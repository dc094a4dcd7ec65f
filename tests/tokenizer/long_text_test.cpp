// A megabyte of one character, for every kind of model. A quadratic step anywhere would take hours.
#include <gtest/gtest.h>

#include "testing/fixtures.h"
#include "tokenizer_files.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::size_t kBytes = 1'000'000;

std::string repeated(std::string_view unit) {
  std::string text;
  while (text.size() < kBytes) text += unit;
  return text;
}

const std::vector<std::string> kUnits = {
    "a",
    "A",
    "1",
    "!",
    " ",
    "\n",
    "\r\n",
    "\xCC\x81",
    "\xE4\xB8\xAD",
    "\xE2\x96\x81",
    "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D"};

std::vector<std::pair<std::string, json>> tokenizers() {
  const json cases = testing::read_json(testing::fixture("tokenizers/cases.json"));
  std::vector<std::pair<std::string, json>> out;
  for (const auto& [name, file] : cases["bases"].items()) out.emplace_back(name, file);
  json nfkc = cases["bases"]["bytes"];
  nfkc["normalizer"] = {{"type", "NFKC"}};
  out.emplace_back("bytes, NFKC", nfkc);
  out.emplace_back("byte level",
                   testing::read_json(testing::fixture("models/tiny-random-gpt2/tokenizer.json")));
  out.emplace_back("minilm",
                   testing::read_json(testing::fixture("tokenizers/minilm/tokenizer.json")));
  return out;
}

TEST(LongText, AMegabyteOfOneCharacter) {
  for (const auto& [name, file] : tokenizers()) {
    const Tokenizer tokenizer = testing::tokenizer_from(file);
    for (const std::string& unit : kUnits) {
      SCOPED_TRACE(name + ": " + unit);
      const std::string text = repeated(unit);
      const Encoding encoding = tokenizer.encode(text, {.specials = SpecialTokens::skip});
      // Offsets go forward and stay inside the text.
      std::size_t at = 0;
      for (const CharSpan& span : encoding.offsets) {
        ASSERT_LE(at, span.begin);
        ASSERT_LE(span.begin, span.end);
        at = span.begin;
      }
      if (!encoding.offsets.empty()) {
        EXPECT_LE(encoding.offsets.back().end, text.size());
      }
    }
  }
}

// With merges a+b → ab and ab the only merge, "abab…" halves exactly.
TEST(LongText, MergesInALongWord) {
  const json cases = testing::read_json(testing::fixture("tokenizers/cases.json"));
  const Tokenizer tokenizer = testing::tokenizer_from(cases["bases"]["bytes"]);
  const Encoding encoding = tokenizer.encode(repeated("ab"));
  ASSERT_EQ(encoding.size(), kBytes / 2);
  EXPECT_EQ(encoding.pieces.front(), "ab");
  EXPECT_EQ(encoding.pieces.back(), "ab");
  EXPECT_EQ(encoding.offsets.back(), (CharSpan{kBytes - 2, kBytes}));
}

}  // namespace
}  // namespace attnscope
