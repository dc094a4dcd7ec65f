// A text under normalisation that remembers, byte for byte, where it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::tok {

// Half-open byte range of the text that was given to encode().
struct SourceSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// One code point of a rewritten text.
//   change == 0: takes the place of the next old code point
//   change == −n: the same, and the n old code points after it are gone
//   change > 0: new; comes from where the code point before it came from
struct Edit {
  char32_t c;
  std::int32_t change;
};

// Half-open byte range of a text, and whether a pattern matched it.
struct Match {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool hit = false;
};

struct AlignedText {
  std::string text;
  std::vector<SourceSpan> spans;  // one per byte of text
  std::uint32_t base = 0;         // where this part begins in the source

  // Rewrites the whole text; `dropped` old code points at the front are gone.
  void rewrite(const std::vector<Edit>& edits, std::size_t dropped = 0);
  // Rewrites bytes [begin, end).
  void rewrite_range(std::size_t begin, std::size_t end, const std::vector<Edit>& edits);
  // Keeps the code points for which `keep` holds.
  void filter(const std::function<bool(char32_t)>& keep);
  // Replaces each code point by one other.
  void map(const std::function<char32_t(char32_t)>& to);
  // Puts `prefix` in front of a text that is not empty; it comes from where the first code point
  // came from.
  void prepend(std::u32string_view prefix);
  // Replaces each match by `content`, which comes from where the match's last code point came from.
  void replace(const std::vector<Match>& matches, std::string_view content);
  // Keeps bytes [begin, end).
  void keep_range(std::size_t begin, std::size_t end);
};

}  // namespace attnscope::tok
