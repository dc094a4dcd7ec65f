#include "attnscope/sites/selectors.h"

#include <algorithm>
#include <set>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "list_parts.h"

namespace attnscope {
namespace {

// Letters, digits and the underscore. Scripts written without spaces between words (Han, kana,
// Thai, Lao, Khmer, Burmese) have no word borders, so their letters do not count.
bool is_word_character(char32_t c) {
  if (c < 0x80) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  const bool latin1_sign = c < 0xC0 && c != 0xAA && c != 0xB5 && c != 0xBA;
  const bool punctuation = (c >= 0x2000 && c <= 0x2BFF) || (c >= 0xFF00 && c <= 0xFF0F);
  const bool no_spaces = (c >= 0x0E00 && c <= 0x0EFF) || (c >= 0x1000 && c <= 0x109F) ||
                         (c >= 0x1780 && c <= 0x17FF) || (c >= 0x2E80 && c <= 0x9FFF) ||
                         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x3FFFF);
  return !latin1_sign && !punctuation && !no_spaces && c != 0xD7 && c != 0xF7;
}

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (std::size_t pos = 0; pos < text.size();) out.push_back(next_code_point(text, pos));
  return out;
}

// First code point of every occurrence of `word` that is not part of a longer word.
std::vector<int> occurrences(const std::u32string& text, const std::u32string& word) {
  std::vector<int> found;
  for (std::size_t at = text.find(word); at != std::u32string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool joined_before =
        at > 0 && is_word_character(text[at - 1]) && is_word_character(word.front());
    const bool joined_after =
        end < text.size() && is_word_character(text[end]) && is_word_character(word.back());
    if (!joined_before && !joined_after) found.push_back(static_cast<int>(at));
  }
  return found;
}

class PositionParser {
 public:
  PositionParser(std::string_view list, const PromptText& prompt, std::string_view option)
      : option_{option, list}, prompt_(prompt), text_(code_points(prompt.text)) {}

  std::vector<int> parse() {
    for (const std::string& part : position_parts(option_.whole, option_.name)) add(part);
    return {chosen_.begin(), chosen_.end()};
  }

 private:
  void add(std::string_view part) {
    const int count = static_cast<int>(prompt_.tokens.size());
    if (part.size() >= 2 && part.front() == '"' && part.back() == '"') {
      add_word(part);
    } else if (part == "last" && count > 0) {
      chosen_.insert(count - 1);
    } else if (const auto n = parse_integer(part); n && *n < 0) {
      if (*n < -count) {
        fail_list_part(option_, part, " is out of range",
                       "positions 0 to " + std::to_string(count - 1) + ", or -1 to -" +
                           std::to_string(count) + " from the end");
      }
      chosen_.insert(count + static_cast<int>(*n));
    } else if (is_name(part)) {
      add_named(part);
    } else {
      const IndexSpan span = parse_span(part, count, "position", part, option_);
      for (int i = span.first; i <= span.last; ++i) chosen_.insert(i);
    }
  }

  static bool is_name(std::string_view part) {
    return !part.empty() && part != "all" && part != "last" &&
           std::string_view("0123456789-*\"").find(part.front()) == std::string_view::npos;
  }

  // The span of this name: words of the text, or code points "[begin, end]".
  void add_named(std::string_view name) {
    const auto span = std::find_if(prompt_.spans.begin(), prompt_.spans.end(),
                                   [name](const NamedSpan& s) { return s.name == name; });
    if (span == prompt_.spans.end()) fail_unknown_name(name);
    const std::string column = "column " + quote(name);
    const std::string_view value = trim(span->value);
    if (const auto range = code_point_range(value)) {
      const auto [begin, end] = *range;
      const auto length = static_cast<std::int64_t>(text_.size()) - prompt_.char_offset;
      if (begin < 0 || begin >= end || end > length) {
        fail_span(column + " is no part of the prompt",
                  "begin before end, from 0 to " + std::to_string(length), quote(value));
      }
      add_tokens(static_cast<int>(begin) + prompt_.char_offset,
                 static_cast<int>(end) + prompt_.char_offset, column);
      return;
    }
    const std::u32string words = code_points(value);
    const std::vector<int> places = words.empty() ? std::vector<int>{} : occurrences(text_, words);
    if (places.empty()) {
      fail_span(column + (words.empty() ? " is empty" : " names words that are not in the prompt"),
                "words of the prompt, or [begin, end] in characters",
                words.empty() ? "" : quote(value));
    }
    for (const int begin : places) {
      add_tokens(begin, begin + static_cast<int>(words.size()), column);
    }
  }

  // "[3, 7]" as two integers; nothing if it is written in any other way.
  static std::optional<std::pair<std::int64_t, std::int64_t>> code_point_range(
      std::string_view value) {
    if (!value.starts_with('[') || !value.ends_with(']')) return std::nullopt;
    const std::vector<std::string> ends = split(value.substr(1, value.size() - 2), ',');
    if (ends.size() != 2) return std::nullopt;
    const auto begin = parse_integer(trim(ends[0]));
    const auto end = parse_integer(trim(ends[1]));
    if (!begin || !end) return std::nullopt;
    return std::pair(*begin, *end);
  }

  [[noreturn]] void fail_span(std::string what, std::string expected, std::string got) const {
    throw Error(ErrorKind::input, "SE23",
                {.where = std::string(option_.name),
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = std::move(got)});
  }

  [[noreturn]] void fail_unknown_name(std::string_view name) const {
    std::vector<std::string> names;
    for (const NamedSpan& span : prompt_.spans) names.push_back(quote(span.name));
    throw Error(ErrorKind::input, "SE23",
                {.where = std::string(option_.name),
                 .what = quote(name) + " is neither a position nor a column of the prompt",
                 .got = names.empty() ? "no columns" : "the columns " + join(names, ", "),
                 .next = "a word of the text is written in double quotes"});
  }

  void add_word(std::string_view part) {
    const auto [word, which] = split_word(part);
    std::vector<int> places = occurrences(text_, word);
    if (places.empty() || which > static_cast<int>(places.size())) {
      const std::string found = std::to_string(places.size());
      throw Error(ErrorKind::input, "SE21",
                  {.where = std::string(option_.name),
                   .what = "the word " + escape_untrusted(part) + " is not in the prompt",
                   .expected = which > 0 ? "at least " + count_of(which, "occurrence") : "",
                   .got = which > 0 ? found : "",
                   .next = "prompt: " + quote(prompt_.text)});
    }
    if (which > 0) places = {places[static_cast<std::size_t>(which - 1)]};
    for (const int begin : places) add_tokens(begin, begin + static_cast<int>(word.size()), part);
  }

  // "Mary#2" → Mary, 2; without a number every occurrence (0).
  struct Word {
    std::u32string text;
    int which = 0;
  };
  Word split_word(std::string_view part) const {
    std::string text;
    for (std::size_t i = 1; i + 1 < part.size(); ++i) {
      if (part[i] == '\\' && i + 2 < part.size()) ++i;
      text += part[i];
    }
    const std::size_t hash = text.rfind('#');
    int which = 0;
    if (hash != std::string::npos && hash > 0) {
      if (const auto n = parse_integer(std::string_view(text).substr(hash + 1))) {
        if (*n < 1 || *n > 1'000'000) {
          fail_list_part(option_, part, " has no such occurrence", "occurrences count from 1");
        }
        which = static_cast<int>(*n);
        text.resize(hash);
      }
    }
    if (text.empty() || first_invalid_utf8(text)) {
      fail_list_part(option_, part, " is not a word", "\"word\" or \"word#2\"");
    }
    return {code_points(text), which};
  }

  void add_tokens(int begin, int end, std::string_view part) {
    bool any = false;
    for (std::size_t i = 0; i < prompt_.tokens.size(); ++i) {
      const TokenText& token = prompt_.tokens[i];
      if (token.char_begin < 0 || token.char_begin >= end || token.char_end <= begin) continue;
      chosen_.insert(static_cast<int>(i));
      any = true;
    }
    if (!any) {
      fail_span("no token holds the characters of " + escape_untrusted(part),
                "a part that the tokenizer keeps", "");
    }
  }

  ListOption option_;
  const PromptText& prompt_;
  std::u32string text_;
  std::set<int> chosen_;
};

}  // namespace

std::string head_name(HeadId head) {
  const char* stack = head.stack == Stack::self      ? ""
                      : head.stack == Stack::encoder ? "enc:"
                      : head.stack == Stack::decoder ? "dec:"
                                                     : "cross:";
  return stack + std::to_string(head.layer) + "." + std::to_string(head.head);
}

std::vector<int> parse_ranges(std::string_view text, int count, std::string_view option) {
  const ListOption context{option, text};
  const std::string_view what = option == "--layers" ? "layer" : "position";
  std::set<int> chosen;
  for (const std::string& raw : split(text, ',')) {
    const std::string_view part = trim(raw);
    const IndexSpan span = parse_span(part, count, what, part, context);
    for (int i = span.first; i <= span.last; ++i) chosen.insert(i);
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<HeadId> parse_heads(std::string_view text, const std::vector<int>& heads_per_layer,
                                std::string_view option) {
  const ListOption context{option, text};
  const int layers = static_cast<int>(heads_per_layer.size());
  std::set<HeadId> chosen;
  for (const std::string& raw : split(text, ',')) {
    const std::string_view part = trim(raw);
    const bool all = part == "*" || part == "all";
    const std::size_t dot = part.find('.');
    if (!all && dot == std::string_view::npos) {
      fail_list_part(context, part, " is not a head", "LAYER.HEAD, such as 5.1, 0-3.2 or 5.*");
    }
    if (part.find(':') != std::string_view::npos) {
      fail_list_part(context, part, " names a stack, and this model has only one",
                     "LAYER.HEAD without a prefix");
    }
    const IndexSpan layer =
        parse_span(all ? "*" : part.substr(0, dot), layers, "layer", part, context);
    for (int l = layer.first; l <= layer.last; ++l) {
      const int heads = heads_per_layer[static_cast<std::size_t>(l)];
      const IndexSpan head =
          parse_span(all ? "*" : part.substr(dot + 1), heads, "head", part, context);
      for (int h = head.first; h <= head.last; ++h) chosen.insert({l, h, Stack::self});
    }
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::string> position_parts(std::string_view list, std::string_view option) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '\\' && quoted && i + 1 < list.size()) {
      parts.back() += c;
      parts.back() += list[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (quoted) {
    fail_list_part({option, list}, list, " has a quote that is not closed",
                   "\"word\" or \"word#2\"");
  }
  for (std::string& part : parts) part = std::string(trim(part));
  return parts;
}

std::vector<int> parse_positions(std::string_view list, const PromptText& prompt,
                                 std::string_view option) {
  if (const auto bad = first_invalid_utf8(prompt.text)) {
    throw Error(ErrorKind::input, "SE22",
                {.where = std::string(option),
                 .what = "the prompt is not valid UTF-8 at byte " + std::to_string(*bad)});
  }
  return PositionParser(list, prompt, option).parse();
}

}  // namespace attnscope
