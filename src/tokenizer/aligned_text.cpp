#include "aligned_text.h"

#include <algorithm>

#include "attnscope/support/utf8.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

// Walks over old code points while the new text is written.
class Rewriter {
 public:
  Rewriter(const AlignedText& old, std::size_t begin, std::size_t end)
      : old_(old), at_(begin), end_(end) {}

  void drop(std::size_t code_points) {
    for (std::size_t i = 0; i < code_points && at_ < end_; ++i) at_ += utf8_length(old_.text[at_]);
  }

  void put(const Edit& edit) {
    SourceSpan span{old_.base, old_.base};
    if (edit.change > 0) {
      if (at_ > 0) span = old_.spans[at_ - 1];
    } else {
      span = at_ < old_.spans.size() ? old_.spans[at_] : old_.spans.back();
      drop(1 + static_cast<std::size_t>(-edit.change));
    }
    append_utf8(text, edit.c);
    spans.resize(text.size(), span);
  }

  std::string text;
  std::vector<SourceSpan> spans;

 private:
  const AlignedText& old_;
  std::size_t at_;
  std::size_t end_;
};

}  // namespace

void AlignedText::rewrite(const std::vector<Edit>& edits, std::size_t dropped) {
  if (text.empty()) return;
  // Bytes at the front that come from nowhere stay as they are, in front of the new text.
  const auto placed = std::find_if(spans.begin(), spans.end(),
                                   [](const SourceSpan& s) { return s.begin != s.end; });
  const std::size_t begin =
      placed == spans.end() ? 0 : static_cast<std::size_t>(placed - spans.begin());
  Rewriter out(*this, begin, text.size());
  out.text.assign(text, 0, begin);
  out.spans.assign(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(begin));
  out.text.reserve(text.size());
  out.spans.reserve(text.size());
  out.drop(dropped);
  for (const Edit& edit : edits) out.put(edit);
  text = std::move(out.text);
  spans = std::move(out.spans);
}

void AlignedText::rewrite_range(std::size_t begin, std::size_t end,
                                const std::vector<Edit>& edits) {
  Rewriter out(*this, begin, end);
  for (const Edit& edit : edits) out.put(edit);
  text.replace(begin, end - begin, out.text);
  const auto first = spans.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto at = spans.erase(first, first + static_cast<std::ptrdiff_t>(end - begin));
  spans.insert(at, out.spans.begin(), out.spans.end());
}

void AlignedText::filter(const std::function<bool(char32_t)>& keep) {
  std::vector<Edit> edits;
  edits.reserve(text.size());
  std::size_t dropped = 0;
  bool changed = false;
  for (std::size_t pos = 0; pos < text.size();) {
    const char32_t c = decode_at(text, pos);
    if (keep(c)) {
      edits.push_back({c, 0});
    } else {
      changed = true;
      if (edits.empty()) {
        ++dropped;
      } else {
        --edits.back().change;
      }
    }
  }
  if (changed) rewrite(edits, dropped);
}

void AlignedText::map(const std::function<char32_t(char32_t)>& to) {
  std::vector<Edit> edits;
  edits.reserve(text.size());
  bool changed = false;
  for (std::size_t pos = 0; pos < text.size();) {
    const char32_t c = decode_at(text, pos);
    edits.push_back({to(c), 0});
    changed = changed || edits.back().c != c;
  }
  if (changed) rewrite(edits);
}

void AlignedText::prepend(std::u32string_view prefix) {
  if (text.empty() || prefix.empty()) return;
  std::size_t first_end = 0;
  const char32_t first = decode_at(text, first_end);
  std::vector<Edit> edits;
  for (const char32_t c : prefix) edits.push_back({c, edits.empty() ? 0 : 1});
  edits.push_back({first, 1});
  rewrite_range(0, first_end, edits);
}

void AlignedText::replace(const std::vector<Match>& matches, std::string_view content) {
  if (std::none_of(matches.begin(), matches.end(), [](const Match& m) { return m.hit; })) return;
  std::string new_text;
  std::vector<SourceSpan> new_spans;
  new_text.reserve(text.size());
  new_spans.reserve(text.size());
  for (const Match& match : matches) {
    if (match.hit) {
      new_text += content;
      new_spans.resize(new_text.size(), match.end > 0 ? spans[match.end - 1] : spans.front());
    } else {
      new_text.append(text, match.begin, match.end - match.begin);
      new_spans.insert(new_spans.end(), spans.begin() + match.begin, spans.begin() + match.end);
    }
  }
  text = std::move(new_text);
  spans = std::move(new_spans);
}

void AlignedText::keep_range(std::size_t begin, std::size_t end) {
  text = text.substr(begin, end - begin);
  spans.erase(spans.begin() + static_cast<std::ptrdiff_t>(end), spans.end());
  spans.erase(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace attnscope::tok
