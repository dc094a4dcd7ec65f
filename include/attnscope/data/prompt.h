// File: prompt.h
// One prompt as a user gave it, before it is tokenised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnscope {

// A further column of the prompt file (group, label, answer …), kept as text.
struct Column {
  std::string name;
  std::string value;
  bool operator==(const Column&) const = default;
};

// Either `text` (with `pair`) or `ids` (with `token_types`).
struct Prompt {
  std::string text;
  std::optional<std::string> pair;  // second text of a sentence pair
  std::optional<std::vector<std::int64_t>> ids;
  std::vector<std::int64_t> token_types;  // empty = all 0
  std::vector<Column> columns;            // in the order of a table's header; by name in .jsonl
  std::int64_t line = 0;                  // line of the file, from 1; 0 = not from a file

  bool operator==(const Prompt&) const = default;
};

}  // namespace attnscope
