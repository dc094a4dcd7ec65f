#include "normalizers.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/support/utf8.h"
#include "byte_level.h"
#include "loading.h"
#include "patterns.h"
#include "precompiled.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

constexpr std::string_view kSupported =
    "BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, "
    "Replace, Sequence, Strip, StripAccents";

// Canonical decomposition with marks in canonical order; each code point of the source gives one
// edit that takes its place and, where it decomposes, new ones.
std::vector<Edit> decomposed(std::string_view text, bool compatibility) {
  std::vector<Edit> edits;
  edits.reserve(text.size());
  std::vector<std::pair<std::uint8_t, Edit>> marks;
  const auto flush = [&] {
    std::stable_sort(marks.begin(), marks.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& mark : marks) edits.push_back(mark.second);
    marks.clear();
  };
  for (std::size_t pos = 0; pos < text.size();) {
    const char32_t c = decode_at(text, pos);
    if (c < 0x80) {
      flush();
      edits.push_back({c, 0});
      continue;
    }
    std::int32_t change = 0;
    for (const char32_t part : decompose(c, compatibility)) {
      const std::uint8_t combining = combining_class(part);
      if (combining == 0) {
        flush();
        edits.push_back({part, change});
      } else {
        marks.push_back({combining, {part, change}});
      }
      change = 1;
    }
  }
  flush();
  return edits;
}

// Canonical composition (Unicode Standard Annex 15) of decomposed text.
std::vector<Edit> composed(const std::vector<Edit>& parts) {
  std::vector<Edit> out;
  out.reserve(parts.size());
  std::size_t starter = parts.size();  // place in `out` of the last starter
  std::uint8_t last_class = 0;         // of the last mark kept after the starter
  bool marks_between = false;
  for (const Edit& part : parts) {
    const std::uint8_t combining = combining_class(part.c);
    const bool has_starter = starter < out.size();
    const bool blocked = marks_between && last_class >= combining;
    if (has_starter && !blocked) {
      if (const char32_t pair = compose(out[starter].c, part.c)) {
        out[starter].c = pair;
        out[starter].change += part.change - 1;
        continue;
      }
    }
    if (combining == 0) {
      starter = out.size();
      marks_between = false;
    } else if (has_starter) {
      marks_between = true;
      last_class = combining;
    }
    out.push_back(part);
  }
  return out;
}

enum class Form { nfc, nfd, nfkc, nfkd };

class UnicodeForm final : public Normalizer {
 public:
  explicit UnicodeForm(Form form) : form_(form) {}
  void apply(AlignedText& text) const override {
    if (is_ascii(text.text)) return;
    std::vector<Edit> edits = decomposed(text.text, form_ == Form::nfkc || form_ == Form::nfkd);
    if (form_ == Form::nfc || form_ == Form::nfkc) edits = composed(edits);
    text.rewrite(edits);
  }

 private:
  Form form_;
};

void lower_case_all(AlignedText& text) {
  std::vector<Edit> edits;
  edits.reserve(text.text.size());
  bool changed = false;
  for (std::size_t pos = 0; pos < text.text.size();) {
    const char32_t c = decode_at(text.text, pos);
    const LowerCase lower = lower_case(c);
    edits.push_back({lower.first, 0});
    if (lower.second != 0) edits.push_back({lower.second, 1});
    changed = changed || lower.first != c;
  }
  if (changed) text.rewrite(edits);
}

class Lowercase final : public Normalizer {
 public:
  void apply(AlignedText& text) const override { lower_case_all(text); }
};

class StripAccents final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t c) { return !is_combining_mark(c); });
  }
};

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonObject& o)
      : clean_text_(o.boolean_or("clean_text", true)),
        cjk_(o.boolean_or("handle_chinese_chars", true)),
        lowercase_(o.boolean_or("lowercase", true)),
        strip_accents_(o.boolean_or("strip_accents", lowercase_)) {}

  void apply(AlignedText& text) const override {
    if (clean_text_) {
      text.filter([](char32_t c) { return c != 0 && c != 0xFFFD && !is_bert_control(c); });
      text.map([](char32_t c) { return is_space(c) ? U' ' : c; });
    }
    if (cjk_ && !is_ascii(text.text)) isolate_cjk(text);
    if (strip_accents_ && !is_ascii(text.text)) {
      text.rewrite(decomposed(text.text, false));
      text.filter([](char32_t c) { return !is_bert_accent(c); });
    }
    if (lowercase_) lower_case_all(text);
  }

 private:
  static void isolate_cjk(AlignedText& text) {
    std::vector<Edit> edits;
    bool changed = false;
    for (std::size_t pos = 0; pos < text.text.size();) {
      const char32_t c = decode_at(text.text, pos);
      if (is_cjk(c)) {
        edits.insert(edits.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
        changed = true;
      } else {
        edits.push_back({c, 0});
      }
    }
    if (changed) text.rewrite(edits);
  }

  bool clean_text_;
  bool cjk_;
  bool lowercase_;
  bool strip_accents_;
};

class Nmt final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t c) {
      return !((c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
               c == 0x8F || c == 0x9F);
    });
    text.map([](char32_t c) {
      const bool blank = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                         c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
      return blank ? U' ' : c;
    });
  }
};

class Replace final : public Normalizer {
 public:
  explicit Replace(const JsonObject& o)
      : pattern_(make_pattern(o, "pattern")), content_(o.string("content")) {}
  void apply(AlignedText& text) const override {
    std::vector<Match> matches;
    pattern_->find(text.text, matches);
    text.replace(matches, content_);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const JsonObject& o) {
    const std::string text = o.string("prepend");
    for (std::size_t pos = 0; pos < text.size();) prefix_.push_back(decode_at(text, pos));
  }
  void apply(AlignedText& text) const override { text.prepend(prefix_); }

 private:
  std::u32string prefix_;
};

class Strip final : public Normalizer {
 public:
  explicit Strip(const JsonObject& o)
      : left_(o.boolean_or("strip_left", true)), right_(o.boolean_or("strip_right", true)) {}

  void apply(AlignedText& text) const override {
    std::size_t begin = text.text.size();
    std::size_t end = 0;
    for (std::size_t pos = 0; pos < text.text.size();) {
      const std::size_t here = pos;
      if (is_space(decode_at(text.text, pos))) continue;
      begin = std::min(begin, here);
      end = pos;
    }
    if (!left_) begin = 0;
    if (!right_) end = text.text.size();
    text.keep_range(std::min(begin, end), end);
  }

 private:
  bool left_;
  bool right_;
};

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(const JsonObject& o) : map_(o.string("precompiled_charsmap"), o.where()) {}
  void apply(AlignedText& text) const override { map_.apply(text); }

 private:
  PrecompiledMap map_;
};

class ByteLevel final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    std::string out;
    std::vector<SourceSpan> spans;
    append_byte_chars(text.text, text.spans.data(), out, spans);
    text.text = std::move(out);
    text.spans = std::move(spans);
  }
};

std::unique_ptr<Normalizer> make(const JsonObject& object);

class Sequence final : public Normalizer {
 public:
  explicit Sequence(const JsonObject& o) {
    for_each_object(o, "normalizers",
                    [this](const JsonObject& part) { parts_.push_back(make(part)); });
  }
  void apply(AlignedText& text) const override {
    for (const auto& part : parts_) part->apply(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

std::unique_ptr<Normalizer> make(const JsonObject& o) {
  const std::string type = o.string("type");
  if (type == "NFC") return std::make_unique<UnicodeForm>(Form::nfc);
  if (type == "NFD") return std::make_unique<UnicodeForm>(Form::nfd);
  if (type == "NFKC") return std::make_unique<UnicodeForm>(Form::nfkc);
  if (type == "NFKD") return std::make_unique<UnicodeForm>(Form::nfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "BertNormalizer") return std::make_unique<BertNormalizer>(o);
  if (type == "Nmt") return std::make_unique<Nmt>();
  if (type == "Replace") return std::make_unique<Replace>(o);
  if (type == "Prepend") return std::make_unique<Prepend>(o);
  if (type == "Strip") return std::make_unique<Strip>(o);
  if (type == "Precompiled") return std::make_unique<Precompiled>(o);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "Sequence") return std::make_unique<Sequence>(o);
  refuse_type(o, "normalizer", type, kSupported);
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const JsonObject& object, std::string_view key) {
  return object.has(key) ? make(object.object(key)) : nullptr;
}

}  // namespace attnscope::tok
