#include "split_text.h"

#include <algorithm>

#include "unicode.h"

namespace attnscope::tok {
namespace {

// The ranges that stay, from the matches of one piece.
void apply_behavior(std::vector<Match>& matches, SplitBehavior behavior) {
  std::vector<Match> out;
  bool previous_hit = false;
  switch (behavior) {
    case SplitBehavior::isolated:
      return;
    case SplitBehavior::removed:
      std::erase_if(matches, [](const Match& m) { return m.hit; });
      return;
    case SplitBehavior::contiguous:
      for (const Match& m : matches) {
        if (m.hit == previous_hit && !out.empty()) {
          out.back().end = m.end;
        } else {
          out.push_back(m);
        }
        previous_hit = m.hit;
      }
      break;
    case SplitBehavior::merged_with_previous:
      for (const Match& m : matches) {
        if (m.hit && !previous_hit && !out.empty()) {
          out.back().end = m.end;
        } else {
          out.push_back(m);
        }
        previous_hit = m.hit;
      }
      break;
    case SplitBehavior::merged_with_next:
      for (auto m = matches.rbegin(); m != matches.rend(); ++m) {
        if (m->hit && !previous_hit && !out.empty()) {
          out.back().begin = m->begin;
        } else {
          out.push_back(*m);
        }
        previous_hit = m->hit;
      }
      std::reverse(out.begin(), out.end());
      break;
  }
  matches = std::move(out);
}

}  // namespace

SplitText::SplitText(std::string_view source) : text(source) {
  if (text.empty()) return;
  spans.reserve(text.size());
  for (std::size_t pos = 0; pos < text.size();) {
    const auto begin = static_cast<std::uint32_t>(pos);
    pos += utf8_length(text[pos]);
    spans.resize(pos, {begin, static_cast<std::uint32_t>(pos)});
  }
  pieces.push_back({0, static_cast<std::uint32_t>(text.size()), 0, kNoToken});
}

AlignedText SplitText::copy(const TextPiece& piece) const {
  return {std::string(view(piece)),
          {spans.begin() + piece.begin, spans.begin() + piece.end},
          piece.base};
}

void SplitText::append(const AlignedText& part, std::int64_t token) {
  if (part.text.empty()) return;
  const auto begin = static_cast<std::uint32_t>(text.size());
  text += part.text;
  spans.insert(spans.end(), part.spans.begin(), part.spans.end());
  pieces.push_back({begin, static_cast<std::uint32_t>(text.size()), part.base, token});
}

void SplitText::split(const Finder& find, SplitBehavior behavior) {
  std::vector<TextPiece> out;
  out.reserve(pieces.size());
  std::vector<Match> matches;
  for (const TextPiece& piece : pieces) {
    if (piece.token != kNoToken) {
      out.push_back(piece);
      continue;
    }
    matches.clear();
    find(view(piece), matches);
    apply_behavior(matches, behavior);
    for (const Match& m : matches) {
      if (m.begin == m.end) continue;
      out.push_back({piece.begin + m.begin, piece.begin + m.end, spans[piece.begin + m.begin].begin,
                     kNoToken});
    }
  }
  pieces = std::move(out);
}

void SplitText::rewrite_pieces(const PieceRewriter& rewrite) {
  std::string new_text;
  std::vector<SourceSpan> new_spans;
  new_text.reserve(text.size());
  new_spans.reserve(text.size());
  for (TextPiece& piece : pieces) {
    const auto begin = static_cast<std::uint32_t>(new_text.size());
    if (piece.token == kNoToken) {
      rewrite(piece, new_text, new_spans);
    } else {
      new_text += view(piece);
      new_spans.insert(new_spans.end(), spans.begin() + piece.begin, spans.begin() + piece.end);
    }
    piece.begin = begin;
    piece.end = static_cast<std::uint32_t>(new_text.size());
  }
  text = std::move(new_text);
  spans = std::move(new_spans);
}

}  // namespace attnscope::tok
