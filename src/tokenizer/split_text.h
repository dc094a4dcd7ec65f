// A text cut into pieces: what added tokens, normalizers and pre-tokenizers work on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "aligned_text.h"

namespace attnscope::tok {

inline constexpr std::int64_t kNoToken = -1;

struct TextPiece {
  std::uint32_t begin = 0;  // bytes of SplitText::text
  std::uint32_t end = 0;
  std::uint32_t base = 0;         // where the piece begins in the source
  std::int64_t token = kNoToken;  // id when the piece is an added token, which nothing cuts further
};

// What becomes of the parts that a splitting pattern matches.
enum class SplitBehavior {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous,
};

// All pieces share one buffer, so that a million of them cost no million strings.
struct SplitText {
  std::string text;
  std::vector<SourceSpan> spans;  // one per byte of text
  std::vector<TextPiece> pieces;

  // The whole of `source` as one piece (none when it is empty).
  explicit SplitText(std::string_view source);
  SplitText() = default;

  std::string_view view(const TextPiece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
  AlignedText copy(const TextPiece& piece) const;
  // Adds `part` to the buffer as one piece, unless it is empty.
  void append(const AlignedText& part, std::int64_t token);

  using Finder = std::function<void(std::string_view text, std::vector<Match>& matches)>;
  // Cuts each piece that is no token at the matches of `find`, which must cover it in order.
  void split(const Finder& find, SplitBehavior behavior);

  // Writes a new buffer: `rewrite` appends what becomes of a piece to `text` and `spans`. Tokens
  // are carried over unchanged.
  using PieceRewriter = std::function<void(const TextPiece& piece, std::string& text,
                                           std::vector<SourceSpan>& spans)>;
  void rewrite_pieces(const PieceRewriter& rewrite);
};

}  // namespace attnscope::tok
