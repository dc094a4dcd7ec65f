// Reads tokenizer.json: the vocabulary and the merges stream straight into compact tables, the
// rest becomes a small document.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary.h"

namespace attnscope::tok {

// Pairs of pieces in order of rank.
class MergeList {
 public:
  void add(std::string_view left, std::string_view right);
  std::size_t size() const { return merges_.size(); }
  std::string_view left(std::size_t i) const;
  std::string_view right(std::size_t i) const;

 private:
  struct Merge {
    std::size_t begin;
    std::uint32_t left_bytes;
    std::uint32_t right_bytes;
  };
  std::string bytes_;
  std::vector<Merge> merges_;
};

struct ModelTables {
  enum class Form { absent, map, list };
  Form vocabulary_form = Form::absent;  // {"piece": id} or [["piece", score]]
  Vocabulary vocabulary;                // of a list: id = place
  std::vector<double> scores;           // of a list
  bool has_merges = false;
  MergeList merges;
};

struct TokenizerFile {
  std::string where;
  nlohmann::json document;  // without model.vocab and model.merges
  ModelTables tables;
};

// Throws TK01 (not JSON, bad nesting, duplicate key), TK03 (wrong type), TK06 (piece or id twice),
// TK07 (id out of range), TK08 (malformed merge).
TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& where);

}  // namespace attnscope::tok
