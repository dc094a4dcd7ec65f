#include "pre_tokenizers.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/support/utf8.h"
#include "byte_level.h"
#include "loading.h"
#include "metaspace.h"
#include "patterns.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

constexpr std::string_view kSupported =
    "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, "
    "Split, Whitespace, WhitespaceSplit";

using Predicate = bool (*)(char32_t);

void split_at(SplitText& text, Predicate holds, SplitBehavior behavior) {
  text.split([holds](std::string_view part,
                     std::vector<Match>& matches) { find_code_points(part, holds, matches); },
             behavior);
}

SplitBehavior read_behavior(const JsonObject& o, std::string_view fallback) {
  const std::string name = o.string_or("behavior", fallback);
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  o.fail("behavior", "", "one of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous",
         quote(name));
}

class ByteLevel final : public PreTokenizer {
 public:
  explicit ByteLevel(const JsonObject& o)
      : add_prefix_space_(o.boolean("add_prefix_space")),
        pattern_(o.boolean_or("use_regex", true) ? byte_level_pattern() : nullptr) {}

  void apply(SplitText& text) const override {
    if (add_prefix_space_) prepend_space(text);
    if (pattern_) {
      text.split([this](std::string_view part,
                        std::vector<Match>& matches) { pattern_->find(part, matches); },
                 SplitBehavior::isolated);
    }
    text.rewrite_pieces(
        [&text](const TextPiece& piece, std::string& out, std::vector<SourceSpan>& spans) {
          append_byte_chars(text.view(piece), text.spans.data() + piece.begin, out, spans);
        });
  }

 private:
  static void prepend_space(SplitText& text) {
    text.rewrite_pieces(
        [&text](const TextPiece& piece, std::string& out, std::vector<SourceSpan>& spans) {
          AlignedText part = text.copy(piece);
          if (!part.text.starts_with(' ')) part.prepend(U" ");
          out += part.text;
          spans.insert(spans.end(), part.spans.begin(), part.spans.end());
        });
  }

  bool add_prefix_space_;
  std::unique_ptr<Pattern> pattern_;
};

class MetaspaceSplit final : public PreTokenizer {
 public:
  explicit MetaspaceSplit(const JsonObject& o) : metaspace_(read_metaspace(o)) {}

  void apply(SplitText& text) const override {
    std::string mark;
    append_utf8(mark, metaspace_.replacement);
    text.rewrite_pieces(
        [&](const TextPiece& piece, std::string& out, std::vector<SourceSpan>& spans) {
          AlignedText part = text.copy(piece);
          std::vector<Match> blanks;
          find_code_points(
              part.text, [](char32_t c) { return c == ' '; }, blanks);
          part.replace(blanks, mark);
          const bool wanted = metaspace_.scheme == Metaspace::Prepend::always ||
                              (metaspace_.scheme == Metaspace::Prepend::first && piece.base == 0);
          if (wanted && !part.text.starts_with(mark)) {
            part.prepend(std::u32string_view(&metaspace_.replacement, 1));
          }
          out += part.text;
          spans.insert(spans.end(), part.spans.begin(), part.spans.end());
        });
    if (!metaspace_.split) return;
    text.split(
        [this](std::string_view part, std::vector<Match>& matches) {
          find_code_points(
              part, [this](char32_t c) { return c == metaspace_.replacement; }, matches);
        },
        SplitBehavior::merged_with_next);
  }

 private:
  Metaspace metaspace_;
};

class Whitespace final : public PreTokenizer {
 public:
  void apply(SplitText& text) const override {
    text.split(
        [](std::string_view part, std::vector<Match>& matches) {
          const auto kind = [](char32_t c) { return is_space(c) ? 0 : is_word(c) ? 1 : 2; };
          int last = -1;
          for (std::size_t pos = 0; pos < part.size();) {
            const auto begin = static_cast<std::uint32_t>(pos);
            const int now = kind(decode_at(part, pos));
            if (now == last) {
              matches.back().end = static_cast<std::uint32_t>(pos);
            } else {
              matches.push_back({begin, static_cast<std::uint32_t>(pos), now == 0});
            }
            last = now;
          }
        },
        SplitBehavior::removed);
  }
};

class WhitespaceSplit final : public PreTokenizer {
 public:
  void apply(SplitText& text) const override { split_at(text, is_space, SplitBehavior::removed); }
};

class Bert final : public PreTokenizer {
 public:
  void apply(SplitText& text) const override {
    split_at(text, is_space, SplitBehavior::removed);
    split_at(text, is_punctuation, SplitBehavior::isolated);
  }
};

class Punctuation final : public PreTokenizer {
 public:
  explicit Punctuation(const JsonObject& o) : behavior_(read_behavior(o, "Isolated")) {}
  void apply(SplitText& text) const override { split_at(text, is_punctuation, behavior_); }

 private:
  SplitBehavior behavior_;
};

class Digits final : public PreTokenizer {
 public:
  explicit Digits(const JsonObject& o)
      : behavior_(o.boolean_or("individual_digits", false) ? SplitBehavior::isolated
                                                           : SplitBehavior::contiguous) {}
  void apply(SplitText& text) const override { split_at(text, is_number, behavior_); }

 private:
  SplitBehavior behavior_;
};

class CharDelimiter final : public PreTokenizer {
 public:
  explicit CharDelimiter(const JsonObject& o) : delimiter_(code_point(o, "delimiter", "")) {}
  void apply(SplitText& text) const override {
    text.split(
        [this](std::string_view part, std::vector<Match>& matches) {
          find_code_points(
              part, [this](char32_t c) { return c == delimiter_; }, matches);
        },
        SplitBehavior::removed);
  }

 private:
  char32_t delimiter_;
};

class Split final : public PreTokenizer {
 public:
  explicit Split(const JsonObject& o)
      : pattern_(make_pattern(o, "pattern")),
        behavior_(read_behavior(o, "")),
        inverted_(o.boolean_or("invert", false)) {}

  void apply(SplitText& text) const override {
    text.split(
        [this](std::string_view part, std::vector<Match>& matches) {
          pattern_->find(part, matches);
          if (inverted_) invert(matches);
        },
        behavior_);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool inverted_;
};

std::unique_ptr<PreTokenizer> make(const JsonObject& object);

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(const JsonObject& o) {
    for_each_object(o, "pretokenizers",
                    [this](const JsonObject& part) { parts_.push_back(make(part)); });
  }
  void apply(SplitText& text) const override {
    for (const auto& part : parts_) part->apply(text);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

std::unique_ptr<PreTokenizer> make(const JsonObject& o) {
  const std::string type = o.string("type");
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(o);
  if (type == "Metaspace") return std::make_unique<MetaspaceSplit>(o);
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return std::make_unique<WhitespaceSplit>();
  if (type == "BertPreTokenizer") return std::make_unique<Bert>();
  if (type == "Punctuation") return std::make_unique<Punctuation>(o);
  if (type == "Digits") return std::make_unique<Digits>(o);
  if (type == "CharDelimiterSplit") return std::make_unique<CharDelimiter>(o);
  if (type == "Split") return std::make_unique<Split>(o);
  if (type == "Sequence") return std::make_unique<Sequence>(o);
  refuse_type(o, "pre-tokenizer", type, kSupported);
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonObject& object, std::string_view key) {
  return object.has(key) ? make(object.object(key)) : nullptr;
}

}  // namespace attnscope::tok
