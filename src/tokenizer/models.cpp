#include "models.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "loading.h"

namespace attnscope::tok {
namespace {

class WordLevel final : public TokenModel {
 public:
  WordLevel(Vocabulary vocabulary, std::string unknown)
      : TokenModel(TokenizerKind::wordlevel, std::move(vocabulary)), unknown_(std::move(unknown)) {}

  void tokenize(std::string_view word, Workspace&, std::vector<ModelToken>& tokens) const override {
    auto id = vocabulary_.id(word);
    if (!id) id = vocabulary_.id(unknown_);
    if (!id) fail_unknown_token(word);
    tokens.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
  }

  std::string_view unknown_piece() const override { return unknown_; }

 private:
  std::string unknown_;
};

// Files of early library versions do not name the model's type.
std::string infer_type(const JsonObject& model, const ModelTables& tables) {
  if (tables.has_merges) return "BPE";
  if (tables.vocabulary_form == ModelTables::Form::list) return "Unigram";
  return model.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

void fail_unknown_token(std::string_view word) {
  throw Error(
      ErrorKind::input, "TK51",
      {.where = "tokenizer",
       .what = "the text holds " + quote(word, 40) +
               ", which the vocabulary cannot spell, and the tokenizer has no unknown token"});
}

std::string byte_piece(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

std::unique_ptr<TokenModel> make_model(const JsonObject& model, ModelTables& tables) {
  const std::string type = model.string_or("type", infer_type(model, tables));
  const bool wants_list = type == "Unigram";
  if (type != "BPE" && type != "WordPiece" && type != "Unigram" && type != "WordLevel") {
    refuse_type(model, "model", type, "BPE, WordPiece, Unigram, WordLevel");
  }
  const auto form = wants_list ? ModelTables::Form::list : ModelTables::Form::map;
  if (tables.vocabulary_form != form) {
    model.fail("vocab", "the vocabulary of a " + type + " model",
               wants_list ? "a list of [piece, score]" : "an object of piece: id",
               tables.vocabulary_form == ModelTables::Form::absent ? "none" : "the other form");
  }
  if (type == "BPE") return make_bpe(model, tables);
  if (type == "WordPiece") return make_wordpiece(model, tables);
  if (type == "Unigram") return make_unigram(model, tables);
  return std::make_unique<WordLevel>(std::move(tables.vocabulary), model.string("unk_token"));
}

}  // namespace attnscope::tok
