// The models that turn a word into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/support/json.h"
#include "attnscope/tokenizer/tokenizer.h"
#include "json_loader.h"
#include "vocabulary.h"

namespace attnscope::tok {

// What Encoding::pieces shows for a token.
enum class PieceText { of_vocabulary, of_text };

struct ModelToken {
  std::int64_t id = 0;
  std::uint32_t begin = 0;  // bytes of the word
  std::uint32_t end = 0;
  PieceText text = PieceText::of_vocabulary;
};

// Buffers that are kept from word to word.
struct Workspace {
  struct Symbol {
    std::int32_t id;
    std::int32_t previous;
    std::int32_t next;
    std::uint32_t bytes;  // 0 = merged into the symbol before it
  };
  struct Candidate {
    std::uint32_t rank;
    std::uint32_t position;
    std::int32_t merged;
  };
  struct BestPath {
    double score;
    std::int64_t begin;  // −1 = not reached
    std::int64_t id;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<BestPath> paths;
};

class TokenModel {
 public:
  TokenModel(TokenizerKind kind, Vocabulary vocabulary)
      : vocabulary_(std::move(vocabulary)), kind_(kind) {}
  virtual ~TokenModel() = default;
  // Appends the tokens of `word`, which is valid UTF-8 and not empty. Throws TK51 when the word
  // needs an unknown token and the model names none.
  virtual void tokenize(std::string_view word, Workspace& workspace,
                        std::vector<ModelToken>& tokens) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  TokenizerKind kind() const { return kind_; }
  // The unknown token's piece, or empty.
  virtual std::string_view unknown_piece() const { return {}; }

 protected:
  Vocabulary vocabulary_;

 private:
  TokenizerKind kind_;
};

// Error TK51.
[[noreturn]] void fail_unknown_token(std::string_view word);
// "<0x0A>"
std::string byte_piece(unsigned char byte);

// `model` is the file's "model" object; the vocabulary is moved out of `tables`.
std::unique_ptr<TokenModel> make_model(const JsonObject& model, ModelTables& tables);

std::unique_ptr<TokenModel> make_bpe(const JsonObject& model, ModelTables& tables);
std::unique_ptr<TokenModel> make_wordpiece(const JsonObject& model, ModelTables& tables);
std::unique_ptr<TokenModel> make_unigram(const JsonObject& model, ModelTables& tables);

}  // namespace attnscope::tok
