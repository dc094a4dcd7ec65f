#include "word_scanner.h"

#include <algorithm>
#include <array>

#include "unicode.h"

namespace attnscope::tok {
namespace {

using Rules = WordRules;

constexpr char32_t kLongS = 0x17F;  // folds to 's'

class Scanner {
 public:
  Scanner(std::string_view text, const Rules& rules) : text_(text), rules_(rules) {}

  // End of the match that begins at `begin`.
  std::size_t match(std::size_t begin) const {
    std::size_t end = begin;
    if (rules_.contractions != Rules::Contractions::word_suffix) end = contraction(begin);
    if (end == begin) end = word(begin);
    if (end == begin) end = digits(begin);
    if (end == begin) end = others(begin);
    if (end == begin) end = spaces(begin);
    return end;
  }

 private:
  bool done(std::size_t pos) const { return pos >= text_.size(); }

  char32_t peek(std::size_t pos) const { return decode_at(text_, pos); }
  std::size_t after(std::size_t pos) const { return pos + utf8_length(text_[pos]); }

  template <typename Predicate>
  std::size_t skip(std::size_t pos, Predicate holds) const {
    while (!done(pos)) {
      std::size_t next = pos;
      if (!holds(decode_at(text_, next))) break;
      pos = next;
    }
    return pos;
  }

  bool is_word_letter(char32_t c) const {
    return is_letter(c) || (rules_.letters != Rules::Letters::plain && is_mark(c));
  }

  // The end of 's 't 're 've 'm 'll 'd at `begin`, or `begin`.
  std::size_t contraction(std::size_t begin) const {
    if (done(begin) || text_[begin] != '\'') return begin;
    const bool any_case = rules_.contractions != Rules::Contractions::lower_case;
    std::array<char, 2> letters{};
    std::array<std::size_t, 2> ends{};
    std::size_t pos = begin + 1;
    for (std::size_t i = 0; i < 2 && !done(pos); ++i) {
      const char32_t c = decode_at(text_, pos);
      if (any_case && c == kLongS) {
        letters[i] = 's';
      } else if (c < 0x80) {
        letters[i] = static_cast<char>(any_case && c >= 'A' && c <= 'Z' ? c + 32 : c);
      }
      ends[i] = pos;
    }
    if (std::string_view("stmd").find(letters[0]) != std::string_view::npos && letters[0] != 0) {
      return ends[0];
    }
    const std::string_view two(letters.data(), 2);
    return two == "re" || two == "ve" || two == "ll" ? ends[1] : begin;
  }

  bool is_prefix(char32_t c) const {
    if (rules_.prefix == Rules::LetterPrefix::space) return c == ' ';
    if (rules_.letters == Rules::Letters::with_marks && is_mark(c)) return false;
    return c != '\r' && c != '\n' && !is_letter(c) && !is_number(c);
  }

  std::size_t word(std::size_t begin) const {
    if (done(begin)) return begin;
    const bool prefixed = is_prefix(peek(begin));
    if (rules_.letters == Rules::Letters::cased) return cased_word(begin, prefixed);
    const std::size_t first = prefixed ? after(begin) : begin;
    const std::size_t end = skip(first, [this](char32_t c) { return is_word_letter(c); });
    return end == first ? begin : end;
  }

  // prefix?[upper]*[lower]+suffix? or prefix?[upper]+[lower]*suffix?. A mark counts as both cases,
  // and as a prefix when letters follow.
  std::size_t cased_word(std::size_t begin, bool prefixed) const {
    std::size_t end = begin;
    if (prefixed) end = upper_then_lower(after(begin), begin);
    if (end == begin) end = upper_then_lower(begin, begin);
    if (end == begin) {
      const std::size_t first = prefixed ? after(begin) : begin;
      end = skip(first, is_upper_class);
      if (end == first) return begin;
    }
    return contraction(end);
  }

  // The end of [upper]*[lower]+ at `first`, or `none`. When no lower-case letter follows, the first
  // run gives back what is of both cases, so the match ends after the last such letter.
  std::size_t upper_then_lower(std::size_t first, std::size_t none) const {
    std::size_t both_end = none;
    std::size_t pos = first;
    while (!done(pos)) {
      std::size_t next = pos;
      const char32_t c = decode_at(text_, next);
      if (!is_upper_class(c)) break;
      pos = next;
      if (is_lower_class(c)) both_end = pos;
    }
    const std::size_t end = skip(pos, is_lower_class);
    return end != pos ? end : both_end;
  }

  std::size_t digits(std::size_t begin) const {
    std::size_t pos = begin;
    if (rules_.space_before_digits && !done(pos) && text_[pos] == ' ') ++pos;
    const std::size_t first = pos;
    for (int n = 0; (rules_.max_digits == 0 || n < rules_.max_digits) && !done(pos); ++n) {
      if (!is_number(peek(pos))) break;
      pos = after(pos);
    }
    return pos == first ? begin : pos;
  }

  std::size_t others(std::size_t begin) const {
    std::size_t pos = begin;
    if (!done(pos) && text_[pos] == ' ') ++pos;
    const bool marks_are_letters = rules_.letters == Rules::Letters::with_marks;
    const std::size_t end = skip(pos, [marks_are_letters](char32_t c) {
      return !is_space(c) && !is_letter(c) && !is_number(c) && !(marks_are_letters && is_mark(c));
    });
    if (end == pos) return begin;
    return skip(end, [this](char32_t c) {
      return c < 0x80 && rules_.other_tail.find(static_cast<char>(c)) != std::string_view::npos;
    });
  }

  // "\s*[\r\n]+" where the pattern has it, then "\s+(?!\S)", then "\s+".
  std::size_t spaces(std::size_t begin) const {
    std::size_t last = begin;       // where the run's last code point begins
    std::size_t break_end = begin;  // after the run's last line break
    std::size_t end = begin;
    while (!done(end)) {
      std::size_t next = end;
      const char32_t c = decode_at(text_, next);
      if (!is_space(c)) break;
      last = end;
      end = next;
      if (c == '\r' || c == '\n') break_end = end;
    }
    if (rules_.line_breaks && break_end != begin) return break_end;
    if (done(end) || last == begin) return end;
    return last;
  }

  std::string_view text_;
  const Rules& rules_;
};

}  // namespace

void scan_words(std::string_view text, const WordRules& rules, std::vector<Match>& matches) {
  const Scanner scanner(text, rules);
  std::size_t unmatched = 0;
  for (std::size_t pos = 0; pos < text.size();) {
    const std::size_t end = scanner.match(pos);
    if (end == pos) {
      pos += utf8_length(text[pos]);
      continue;
    }
    if (unmatched != pos) {
      matches.push_back(
          {static_cast<std::uint32_t>(unmatched), static_cast<std::uint32_t>(pos), false});
    }
    matches.push_back({static_cast<std::uint32_t>(pos), static_cast<std::uint32_t>(end), true});
    pos = unmatched = end;
  }
  if (unmatched != text.size()) {
    matches.push_back(
        {static_cast<std::uint32_t>(unmatched), static_cast<std::uint32_t>(text.size()), false});
  }
}

}  // namespace attnscope::tok
