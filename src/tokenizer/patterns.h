// Patterns of Split, Replace and the like: literals and a known set of regular expressions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aligned_text.h"
#include "attnscope/support/json.h"
#include "unicode.h"

namespace attnscope::tok {

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Appends consecutive matches that cover `text`.
  virtual void find(std::string_view text, std::vector<Match>& matches) const = 0;
};

// Appends a match for each code point for which `holds(c)`, and the parts between.
template <typename Predicate>
void find_code_points(std::string_view text, Predicate holds, std::vector<Match>& matches) {
  std::uint32_t unmatched = 0;
  for (std::size_t pos = 0; pos < text.size();) {
    const auto begin = static_cast<std::uint32_t>(pos);
    if (!holds(decode_at(text, pos))) continue;
    if (unmatched != begin) matches.push_back({unmatched, begin, false});
    unmatched = static_cast<std::uint32_t>(pos);
    matches.push_back({begin, unmatched, true});
  }
  if (unmatched != text.size()) {
    matches.push_back({unmatched, static_cast<std::uint32_t>(text.size()), false});
  }
}

// Reads {"String": …} or {"Regex": …} under `key`. Throws TK05 for a regular expression that is
// not known by its exact text: matching it some other way could silently give other tokens.
std::unique_ptr<Pattern> make_pattern(const JsonObject& object, std::string_view key);

// The pattern of GPT-2, which byte-level pre-tokenizers use when the file names none.
std::unique_ptr<Pattern> byte_level_pattern();

// Turns matches of a pattern into matches of everything else.
void invert(std::vector<Match>& matches);

}  // namespace attnscope::tok
