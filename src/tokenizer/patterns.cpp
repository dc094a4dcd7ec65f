#include "patterns.h"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "word_scanner.h"

namespace attnscope::tok {
namespace {

void push(std::size_t begin, std::size_t end, bool hit, std::vector<Match>& matches) {
  matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), hit});
}

class LiteralPattern final : public Pattern {
 public:
  explicit LiteralPattern(std::string literal) : literal_(std::move(literal)) {}

  void find(std::string_view text, std::vector<Match>& matches) const override {
    std::size_t pos = 0;
    for (;;) {
      const std::size_t at = text.find(literal_, pos);
      const std::size_t gap_end = at == std::string_view::npos ? text.size() : at;
      if (gap_end != pos) push(pos, gap_end, false, matches);
      if (at == std::string_view::npos) return;
      pos = at + literal_.size();
      push(at, pos, true, matches);
    }
  }

 private:
  std::string literal_;
};

class WordPattern final : public Pattern {
 public:
  explicit WordPattern(const WordRules& rules) : rules_(rules) {}
  void find(std::string_view text, std::vector<Match>& matches) const override {
    scan_words(text, rules_, matches);
  }

 private:
  WordRules rules_;
};

using CodePointTest = bool (*)(char32_t);

// One class of code points, repeated from `low` to `high` times, as often as possible.
struct Repeat {
  CodePointTest holds;
  int low = 1;
  int high = std::numeric_limits<int>::max();
};

class RepeatPattern final : public Pattern {
 public:
  explicit RepeatPattern(const Repeat& repeat) : repeat_(repeat) {}

  void find(std::string_view text, std::vector<Match>& matches) const override {
    std::size_t unmatched = 0;
    for (std::size_t pos = 0; pos < text.size();) {
      const std::size_t end = match(text, pos);
      if (end == pos) {
        pos += utf8_length(text[pos]);
        continue;
      }
      if (unmatched != pos) push(unmatched, pos, false, matches);
      push(pos, end, true, matches);
      pos = unmatched = end;
    }
    if (unmatched != text.size()) push(unmatched, text.size(), false, matches);
  }

 private:
  std::size_t match(std::string_view text, std::size_t begin) const {
    std::size_t pos = begin;
    int n = 0;
    while (n < repeat_.high && pos < text.size()) {
      std::size_t next = pos;
      if (!repeat_.holds(decode_at(text, next))) break;
      pos = next;
      ++n;
    }
    return n >= repeat_.low ? pos : begin;
  }

  Repeat repeat_;
};

bool is_blank(char32_t c) {
  return c == ' ';
}
bool is_line_break(char32_t c) {
  return c == '\r' || c == '\n';
}
bool is_newline(char32_t c) {
  return c == '\n';
}
bool is_ascii_digit(char32_t c) {
  return c >= '0' && c <= '9';
}

const std::map<std::string, WordRules, std::less<>>& word_patterns() {
  using R = WordRules;
  // Named by what tells them apart.
  static const R spaced{};
  static const R three_digits{.contractions = R::Contractions::any_case,
                              .prefix = R::LetterPrefix::one_non_word,
                              .max_digits = 3,
                              .space_before_digits = false,
                              .other_tail = "\r\n",
                              .line_breaks = true};
  static const R one_digit = [] {
    R rules = three_digits;
    rules.max_digits = 1;
    return rules;
  }();
  static const R marked = [] {
    R rules = one_digit;
    rules.letters = R::Letters::with_marks;
    return rules;
  }();
  static const R cased = [] {
    R rules = three_digits;
    rules.contractions = R::Contractions::word_suffix;
    rules.letters = R::Letters::cased;
    rules.other_tail = "\r\n/";
    return rules;
  }();
  static const std::map<std::string, R, std::less<>> kPatterns = {
      {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", spaced},
      {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", spaced},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+)"
       R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       three_digits},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+)"
       R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       one_digit},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
       R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       marked},
      {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
       R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
       R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
       R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       cased},
  };
  return kPatterns;
}

const std::map<std::string, Repeat, std::less<>>& repeat_patterns() {
  static const std::map<std::string, Repeat, std::less<>> kPatterns = {
      {R"(\s)", {is_space, 1, 1}},
      {R"(\s+)", {is_space}},
      {" +", {is_blank}},
      {" {2,}", {is_blank, 2}},
      {R"(\n)", {is_newline, 1, 1}},
      {"[\\r\\n]", {is_line_break, 1, 1}},
      {R"(\p{N})", {is_number, 1, 1}},
      {R"(\p{N}+)", {is_number}},
      {R"(\p{N}{1,3})", {is_number, 1, 3}},
      {"[0-9]", {is_ascii_digit, 1, 1}},
      {"[0-9]+", {is_ascii_digit}},
      {"[0-9][0-9][0-9]", {is_ascii_digit, 3, 3}},
  };
  return kPatterns;
}

std::string known_patterns() {
  return "a literal string, the word patterns of byte-level tokenizers, or one of the simple "
         "patterns listed in src/tokenizer/README.md";
}

}  // namespace

std::unique_ptr<Pattern> make_pattern(const JsonObject& object, std::string_view key) {
  const JsonObject pattern = object.object(key);
  if (pattern.has("String")) {
    std::string literal = pattern.string("String");
    if (literal.empty()) pattern.fail("String", "pattern", "a string that is not empty", "\"\"");
    return std::make_unique<LiteralPattern>(std::move(literal));
  }
  const std::string regex = pattern.string("Regex");
  if (const auto word = word_patterns().find(regex); word != word_patterns().end()) {
    return std::make_unique<WordPattern>(word->second);
  }
  if (const auto repeat = repeat_patterns().find(regex); repeat != repeat_patterns().end()) {
    return std::make_unique<RepeatPattern>(repeat->second);
  }
  throw Error(ErrorKind::input, "TK05",
              {.where = object.where(),
               .what = "regular expression " + quote(regex) + " at " + pattern.path_of("Regex") +
                       " is not supported",
               .expected = known_patterns(),
               .next = "use a tokenizer whose pre-tokenizer is supported"});
}

std::unique_ptr<Pattern> byte_level_pattern() {
  return std::make_unique<WordPattern>(WordRules{});
}

void invert(std::vector<Match>& matches) {
  for (Match& match : matches) match.hit = !match.hit;
}

}  // namespace attnscope::tok
