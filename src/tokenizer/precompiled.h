// The character map that SentencePiece compiles into a model (precompiled_charsmap).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aligned_text.h"

namespace attnscope::tok {

// A double-array trie from character sequences to their replacements.
class PrecompiledMap {
 public:
  // `base64` as the file holds it. Throws TK12 when it is damaged; `where` names the file.
  PrecompiledMap(std::string_view base64, const std::string& where);

  // Maps each grapheme cluster of fewer than 6 bytes as a whole where the map knows it, else each
  // of its code points.
  void apply(AlignedText& text) const;

 private:
  // The replacement of the shortest prefix of `chunk` that the map holds.
  std::optional<std::string_view> find(std::string_view chunk) const;
  bool map(std::string_view chunk, std::vector<Edit>& edits) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;  // each ends with a NUL
};

}  // namespace attnscope::tok
