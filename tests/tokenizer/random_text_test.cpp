// 10,000 random Unicode texts for each kind of model: ids, offsets, pieces and decoded text equal
// to the reference library's, of which a hash for each 100 texts is stored.
#include <gtest/gtest.h>

#include "attnscope/support/philox.h"
#include "attnscope/support/utf8.h"
#include "testing/fixtures.h"
#include "tokenizer_files.h"

namespace attnscope {
namespace {

using nlohmann::json;

// As make_fixtures.py draws them.
class RandomTexts {
 public:
  explicit RandomTexts(const json& fixture)
      : seed_(fixture["seed"]),
        words_(fixture["words"].get<std::vector<std::string>>()),
        ranges_(fixture["ranges"].get<std::vector<std::array<std::uint32_t, 2>>>()) {}

  std::string text(std::uint64_t i) const {
    Philox draw(seed_, i);
    std::string out;
    for (std::uint32_t n = draw.below(12); n > 0; --n) {
      const std::uint32_t kind = draw.below(4);
      if (kind == 0) {
        out += words_[draw.below(static_cast<std::uint32_t>(words_.size()))];
      } else if (kind == 1) {
        out.append(1 + draw.below(3), ' ');
      } else {
        const auto [low, high] = ranges_[draw.below(static_cast<std::uint32_t>(ranges_.size()))];
        for (std::uint32_t k = 1 + draw.below(4); k > 0; --k) {
          append_utf8(out, low + draw.below(high - low + 1));
        }
      }
    }
    return out;
  }

 private:
  std::uint64_t seed_;
  std::vector<std::string> words_;
  std::vector<std::array<std::uint32_t, 2>> ranges_;
};

std::string result_line(const Tokenizer& tokenizer, const std::string& text) {
  const Encoding e = tokenizer.encode(text);
  std::string ids, offsets, pieces;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (i > 0) {
      ids += ",";
      offsets += ",";
      pieces += "\x1f";
    }
    ids += std::to_string(e.ids[i]);
    offsets += std::to_string(e.offsets[i].begin) + "-" + std::to_string(e.offsets[i].end);
    pieces += e.pieces[i];
  }
  return ids + "|" + offsets + "|" + pieces + "|" + tokenizer.decode(e.ids, SpecialTokens::add) +
         "\n";
}

std::optional<Tokenizer> tokenizer_of(const json& source) {
  if (source.contains("kind")) {
    const auto path = testing::converted(source["kind"].get<std::string>(),
                                         source["inputs"].get<std::vector<std::string>>());
    if (!path) return std::nullopt;
    return Tokenizer::load(*path, "");
  }
  json file = source.contains("json")
                  ? source["json"]
                  : testing::read_json(testing::fixture(source["file"].get<std::string>()));
  if (source.contains("changes")) file.update(source["changes"]);
  return testing::tokenizer_from(file);
}

TEST(RandomTexts, EqualTheReferenceLibrary) {
  const json fixture = testing::read_json(testing::fixture("tokenizers/random_blocks.json"));
  const RandomTexts texts(fixture);
  const std::size_t block = fixture["block"];
  int left_out = 0;
  for (const json& entry : fixture["tokenizers"]) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    const std::optional<Tokenizer> tokenizer = tokenizer_of(entry["source"]);
    if (!tokenizer) {
      ++left_out;
      continue;
    }
    ASSERT_EQ(entry["hashes"].size() * block, 10000u);
    for (std::size_t b = 0; b < entry["hashes"].size(); ++b) {
      std::string lines;
      for (std::size_t i = b * block; i < (b + 1) * block; ++i) {
        lines += result_line(*tokenizer, texts.text(i));
      }
      EXPECT_EQ(testing::short_hash(lines), entry["hashes"][b])
          << "texts " << b * block << " to " << (b + 1) * block - 1;
    }
  }
  if (left_out > 0) {
    std::cout << left_out << " of the tokenizers left out: " << testing::kNoMaterial << "\n";
  }
}

}  // namespace
}  // namespace attnscope
