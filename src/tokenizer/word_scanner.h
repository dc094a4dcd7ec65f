// The regular expressions by which byte-level tokenizers cut text into words, scanned by hand in
// linear time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "aligned_text.h"

namespace attnscope::tok {

// What the known word patterns differ in. Each is an alternation, tried in this order at every
// place: contraction, letters, digits, other characters, line breaks, spaces.
struct WordRules {
  enum class Contractions { lower_case, any_case, word_suffix };
  // How a run of letters may begin.
  enum class LetterPrefix {
    space,         // " ?"
    one_non_word,  // "[^\r\n\p{L}\p{N}]?"
  };
  enum class Letters {
    plain,       // \p{L}+
    with_marks,  // [\p{L}\p{M}]+
    cased,       // [upper]*[lower]+ or [upper]+[lower]*, marks count as both
  };
  Contractions contractions = Contractions::lower_case;
  LetterPrefix prefix = LetterPrefix::space;
  Letters letters = Letters::plain;
  int max_digits = 0;               // 0 = no limit
  bool space_before_digits = true;  // " ?\p{N}+"
  std::string_view other_tail;      // bytes that may follow other characters, "\r\n"
  bool line_breaks = false;         // "\s*[\r\n]+"
};

// Appends consecutive matches that cover `text`; parts that the pattern does not match have
// hit == false.
void scan_words(std::string_view text, const WordRules& rules, std::vector<Match>& matches);

}  // namespace attnscope::tok
