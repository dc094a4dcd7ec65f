// Unigram language model (Kudo 2018, "Subword Regularization"): the segmentation of highest score,
// by the Viterbi algorithm.
#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "attnscope/support/error.h"
#include "byte_trie.h"
#include "models.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

// An unknown code point scores this much below the worst piece.
constexpr double kUnknownPenalty = 10.0;

class Unigram final : public TokenModel {
 public:
  Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<std::int64_t> unknown,
          bool byte_fallback)
      : TokenModel(TokenizerKind::unigram, std::move(vocabulary)),
        scores_(std::move(scores)),
        unknown_id_(unknown) {
    double worst = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      worst = std::min(worst, scores_[i]);
      if (!vocabulary_.piece_at(i).empty()) {
        trie_.add(vocabulary_.piece_at(i), static_cast<std::uint32_t>(i));
      }
    }
    unknown_score_ = worst - kUnknownPenalty;
    byte_ids_.fill(-1);
    if (!byte_fallback) return;
    for (unsigned b = 0; b < 256; ++b) {
      byte_ids_[b] = vocabulary_.id(byte_piece(static_cast<unsigned char>(b))).value_or(-1);
    }
  }

  void tokenize(std::string_view word, Workspace& workspace,
                std::vector<ModelToken>& tokens) const override {
    find_best_paths(word, workspace.paths);
    const std::size_t first = tokens.size();
    // Backwards along the best path; neighbouring unknown code points become one token.
    std::size_t end = word.size();
    std::size_t unknown_end = 0;  // 0 = no unknown token is open
    while (end > 0) {
      const Workspace::BestPath& node = workspace.paths[end];
      const auto begin = static_cast<std::size_t>(node.begin);
      if (unknown_id_ && node.id == *unknown_id_) {
        if (unknown_end == 0) unknown_end = end;
      } else {
        if (unknown_end != 0) push_reversed(word, end, std::exchange(unknown_end, 0), tokens);
        push_reversed(word, begin, end, tokens);
      }
      end = begin;
    }
    if (unknown_end != 0) push_reversed(word, 0, unknown_end, tokens);
    std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
  }

  std::string_view unknown_piece() const override {
    return unknown_id_ ? vocabulary_.piece_at(static_cast<std::size_t>(*unknown_id_))
                       : std::string_view();
  }

 private:
  // paths[e] = best segmentation of the first e bytes, for every code point boundary e.
  void find_best_paths(std::string_view word, std::vector<Workspace::BestPath>& paths) const {
    paths.assign(word.size() + 1, {0.0, -1, 0});
    const auto offer = [&paths](std::size_t begin, std::size_t end, double score, std::int64_t id) {
      Workspace::BestPath& node = paths[end];
      const double total = paths[begin].score + score;
      if (node.begin < 0 || total > node.score) {
        node = {total, static_cast<std::int64_t>(begin), id};
      }
    };
    for (std::size_t begin = 0; begin < word.size();) {
      const std::size_t next = begin + utf8_length(word[begin]);
      bool covers_code_point = false;
      trie_.prefixes(word.substr(begin), [&](std::size_t length, std::uint32_t id) {
        offer(begin, begin + length, scores_[id], id);
        covers_code_point = covers_code_point || begin + length == next;
      });
      if (!covers_code_point) {
        if (!unknown_id_) fail_unknown_token(word.substr(begin, next - begin));
        offer(begin, next, unknown_score_, *unknown_id_);
      }
      begin = next;
    }
  }

  // Appends what stands for word[begin, end): its piece, its bytes in reverse, or unknown.
  void push_reversed(std::string_view word, std::size_t begin, std::size_t end,
                     std::vector<ModelToken>& tokens) const {
    const std::string_view text = word.substr(begin, end - begin);
    const auto b = static_cast<std::uint32_t>(begin);
    const auto e = static_cast<std::uint32_t>(end);
    if (const auto id = vocabulary_.id(text)) {
      tokens.push_back({*id, b, e});
      return;
    }
    const bool spelled = std::all_of(text.begin(), text.end(), [this](char byte) {
      return byte_ids_[static_cast<unsigned char>(byte)] >= 0;
    });
    if (!spelled) {
      tokens.push_back({*unknown_id_, b, e, PieceText::of_text});
      return;
    }
    for (auto byte = text.rbegin(); byte != text.rend(); ++byte) {
      tokens.push_back({byte_ids_[static_cast<unsigned char>(*byte)], b, e});
    }
  }

  std::vector<double> scores_;
  ByteTrie trie_;
  std::optional<std::int64_t> unknown_id_;
  double unknown_score_ = 0.0;
  std::array<std::int64_t, 256> byte_ids_{};
};

}  // namespace

std::unique_ptr<TokenModel> make_unigram(const JsonObject& model, ModelTables& tables) {
  std::optional<std::int64_t> unknown;
  const auto size = static_cast<std::int64_t>(tables.scores.size());
  if (model.has("unk_id")) unknown = model.integer("unk_id", {.low = 0, .high = size - 1});
  return std::make_unique<Unigram>(std::move(tables.vocabulary), std::move(tables.scores), unknown,
                                   model.boolean_or("byte_fallback", false));
}

}  // namespace attnscope::tok
