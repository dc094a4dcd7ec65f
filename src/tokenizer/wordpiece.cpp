// WordPiece (Schuster and Nakajima 2012), greedy longest match first.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/support/utf8.h"
#include "models.h"

namespace attnscope::tok {
namespace {

struct WordPieceOptions {
  std::string unknown;
  std::string continuing_prefix;
  std::size_t max_word_length = 100;  // code points
};

class WordPiece final : public TokenModel {
 public:
  WordPiece(Vocabulary vocabulary, WordPieceOptions options)
      : TokenModel(TokenizerKind::wordpiece, std::move(vocabulary)), options_(std::move(options)) {}

  void tokenize(std::string_view word, Workspace&, std::vector<ModelToken>& tokens) const override {
    const std::size_t first = tokens.size();
    if (count_code_points(word) <= options_.max_word_length && split(word, tokens)) return;
    tokens.resize(first);
    const auto id = vocabulary_.id(options_.unknown);
    if (!id) fail_unknown_token(word);
    tokens.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
  }

  std::string_view unknown_piece() const override { return options_.unknown; }

 private:
  // False when some part of the word is not in the vocabulary.
  bool split(std::string_view word, std::vector<ModelToken>& tokens) const {
    std::string spelled;
    for (std::size_t begin = 0; begin < word.size();) {
      std::size_t end = std::min(word.size(), begin + vocabulary_.longest_piece());
      while (end < word.size() && is_continuation(word[end])) --end;
      std::optional<std::int64_t> id;
      while (end > begin) {
        spelled.assign(begin > 0 ? options_.continuing_prefix : "");
        spelled += word.substr(begin, end - begin);
        id = vocabulary_.id(spelled);
        if (id) break;
        do {
          --end;
        } while (end > begin && is_continuation(word[end]));
      }
      if (!id) return false;
      tokens.push_back({*id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
      begin = end;
    }
    return true;
  }

  static bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
  }

  WordPieceOptions options_;
};

}  // namespace

std::unique_ptr<TokenModel> make_wordpiece(const JsonObject& model, ModelTables& tables) {
  WordPieceOptions options;
  options.unknown = model.string_or("unk_token", "[UNK]");
  options.continuing_prefix = model.string_or("continuing_subword_prefix", "##");
  options.max_word_length = static_cast<std::size_t>(
      model.integer_or("max_input_chars_per_word", 100, {.low = 0, .high = 1 << 20}));
  return std::make_unique<WordPiece>(std::move(tables.vocabulary), std::move(options));
}

}  // namespace attnscope::tok
