#include "post_processors.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "byte_level.h"
#include "loading.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

constexpr std::string_view kSupported =
    "BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing";

// Whether offsets leave out the spaces of byte-level pieces.
struct Trimming {
  bool trim = true;
  bool add_prefix_space = true;
};

Trimming read_trimming(const JsonObject& o) {
  return {o.boolean_or("trim_offsets", true), o.boolean_or("add_prefix_space", true)};
}

void trim_offsets(Encoding& encoding, const Trimming& trimming) {
  if (!trimming.trim) return;
  const auto is_blank = [](char32_t c) { return c == byte_to_char(' ') || is_space(c); };
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const std::string& piece = encoding.pieces[i];
    CharSpan& span = encoding.offsets[i];
    std::size_t leading = 0;
    std::size_t trailing = 0;
    bool only_blanks = true;
    for (std::size_t pos = 0; pos < piece.size();) {
      const bool blank = is_blank(decode_at(piece, pos));
      only_blanks = only_blanks && blank;
      if (only_blanks) ++leading;
      trailing = blank ? trailing + 1 : 0;
    }
    if (leading > 0) {
      // One space at the front of the text may be the one that was added: it is no part of it.
      const bool first = i == 0 || span.begin == 0;
      const bool was_added = first && trimming.add_prefix_space && leading == 1;
      if (!was_added) span.begin = std::min(span.begin + leading, span.end);
    }
    if (trailing > 0 && span.end >= trailing) {
      span.end = std::max(span.end - trailing, span.begin);
    }
  }
}

void set_types(Encoding& encoding, std::int64_t type) {
  std::fill(encoding.token_types.begin(), encoding.token_types.end(), type);
}

struct Special {
  std::string piece;
  std::int64_t id = 0;
};

Encoding special_token(const Special& token, std::int64_t type) {
  return {{token.id}, {token.piece}, {{0, 0}}, {type}, {1}};
}

[[noreturn]] void fail_missing(const JsonObject& o, const std::string& what) {
  throw Error(ErrorKind::input, "TK11", {.where = o.where(), .what = "post-processor " + what});
}

class ByteLevel final : public PostProcessor {
 public:
  explicit ByteLevel(const JsonObject& o) : trimming_(read_trimming(o)) {}
  std::vector<Encoding> apply(std::vector<Encoding> parts, SpecialTokens) const override {
    for (Encoding& part : parts) trim_offsets(part, trimming_);
    return parts;
  }
  bool is_template() const override { return false; }

 private:
  Trimming trimming_;
};

// [piece, id] under `key`.
Special read_pair(const JsonObject& o, std::string_view key, const IdCheck& exists) {
  const nlohmann::json& pair = o.require(key);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() ||
      !pair[1].is_number_unsigned()) {
    o.fail(key, "", "[piece, id]", json_type_name(pair));
  }
  const Special token{pair[0].get<std::string>(), pair[1].get<std::int64_t>()};
  if (!exists(token.id)) {
    fail_missing(o, "names id " + std::to_string(token.id) + ", which no token has");
  }
  return token;
}

// [CLS] first [SEP] second [SEP], or <s> first </s></s> second </s>.
class ClsSep final : public PostProcessor {
 public:
  enum class Style {
    typed,             // one separator; the second text has type 1
    double_separator,  // two separators between the texts; all types are 0; offsets trimmed
  };
  ClsSep(const JsonObject& o, Style style, const IdCheck& exists)
      : cls_(read_pair(o, "cls", exists)), sep_(read_pair(o, "sep", exists)), style_(style) {
    trimming_ = style == Style::double_separator ? read_trimming(o) : Trimming{.trim = false};
  }

  std::vector<Encoding> apply(std::vector<Encoding> parts, SpecialTokens specials) const override {
    std::vector<Encoding> out;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      trim_offsets(parts[i], trimming_);
      const std::int64_t type = style_ == Style::typed && i > 0 ? 1 : 0;
      if (style_ == Style::double_separator || specials == SpecialTokens::add)
        set_types(parts[i], type);
      const bool add = specials == SpecialTokens::add;
      if (add && i == 0) out.push_back(special_token(cls_, type));
      if (add && i > 0 && style_ == Style::double_separator)
        out.push_back(special_token(sep_, type));
      out.push_back(std::move(parts[i]));
      if (add) out.push_back(special_token(sep_, type));
    }
    return out;
  }

  std::optional<std::int64_t> first_token() const override { return cls_.id; }

 private:
  Special cls_;
  Special sep_;
  Style style_;
  Trimming trimming_;
};

class Template final : public PostProcessor {
 public:
  Template(const JsonObject& o, const IdCheck& exists) {
    read_specials(o, exists);
    single_ = read_template(o, "single", 1);
    pair_ = read_template(o, "pair", 2);
  }

  std::vector<Encoding> apply(std::vector<Encoding> parts, SpecialTokens specials) const override {
    std::vector<Encoding> out;
    for (const Item& item : parts.size() > 1 ? pair_ : single_) {
      if (item.sequence >= 0) {
        Encoding part = parts[static_cast<std::size_t>(item.sequence)];
        set_types(part, item.type);
        out.push_back(std::move(part));
      } else if (specials == SpecialTokens::add) {
        for (const Special& token : *item.tokens) out.push_back(special_token(token, item.type));
      }
    }
    return out;
  }

  std::optional<std::int64_t> first_token() const override {
    if (single_.empty() || single_.front().sequence >= 0) return std::nullopt;
    return single_.front().tokens->front().id;
  }

 private:
  struct Item {
    int sequence = -1;                             // 0 = A, 1 = B, −1 = special tokens
    const std::vector<Special>* tokens = nullptr;  // in specials_
    std::int64_t type = 0;
  };

  void read_specials(const JsonObject& o, const IdCheck& exists) {
    const JsonObject specials = o.object("special_tokens");
    for (const auto& [name, value] : specials.value().items()) {
      const JsonObject entry(value, o.where(), "TK03", specials.path_of(name));
      const auto ids = entry.integers_or_empty("ids", {.low = 0});
      const auto pieces = entry.strings_or_empty("tokens");
      if (ids.empty() || ids.size() != pieces.size()) {
        entry.fail("ids", "", "as many ids as tokens, at least one", std::to_string(ids.size()));
      }
      std::vector<Special> tokens;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (!exists(ids[i])) {
          fail_missing(o, "token " + quote(pieces[i], 40) + " has id " + std::to_string(ids[i]) +
                              ", which no token has");
        }
        tokens.push_back({pieces[i], ids[i]});
      }
      specials_[name] = std::move(tokens);
    }
  }

  std::vector<Item> read_template(const JsonObject& o, std::string_view key, int texts) const {
    std::vector<Item> items;
    for_each_object(o, key, [&](const JsonObject& entry) {
      Item item;
      const bool sequence = entry.has("Sequence");
      const JsonObject body = entry.object(sequence ? "Sequence" : "SpecialToken");
      item.type = body.integer_or("type_id", 0, {.low = 0, .high = 0xFFFF});
      const std::string id = body.string("id");
      if (sequence) {
        item.sequence = id == "A" ? 0 : id == "B" ? 1 : 2;
        if (item.sequence >= texts) body.fail("id", "", texts == 1 ? "A" : "A or B", quote(id));
      } else {
        const auto at = specials_.find(id);
        if (at == specials_.end()) {
          fail_missing(o, "template names " + quote(id, 40) + ", which special_tokens lacks");
        }
        item.tokens = &at->second;
      }
      items.push_back(item);
    });
    return items;
  }

  std::map<std::string, std::vector<Special>, std::less<>> specials_;
  std::vector<Item> single_;
  std::vector<Item> pair_;
};

std::unique_ptr<PostProcessor> make(const JsonObject& object, const IdCheck& exists);

class Sequence final : public PostProcessor {
 public:
  Sequence(const JsonObject& o, const IdCheck& exists) {
    for_each_object(o, "processors", [&](const JsonObject& entry) {
      parts_.push_back(make(entry, exists));
      if (parts_.back()->is_template()) {
        if (template_ != nullptr) {
          entry.fail("type", "is a second template in one sequence", "one", "two");
        }
        template_ = parts_.back().get();
      }
    });
  }
  std::vector<Encoding> apply(std::vector<Encoding> parts, SpecialTokens specials) const override {
    for (const auto& part : parts_) parts = part->apply(std::move(parts), specials);
    return parts;
  }
  bool is_template() const override { return template_ != nullptr; }
  std::optional<std::int64_t> first_token() const override {
    return template_ ? template_->first_token() : std::nullopt;
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
  const PostProcessor* template_ = nullptr;
};

std::unique_ptr<PostProcessor> make(const JsonObject& o, const IdCheck& exists) {
  const std::string type = o.string("type");
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(o);
  if (type == "BertProcessing") {
    return std::make_unique<ClsSep>(o, ClsSep::Style::typed, exists);
  }
  if (type == "RobertaProcessing") {
    return std::make_unique<ClsSep>(o, ClsSep::Style::double_separator, exists);
  }
  if (type == "TemplateProcessing") return std::make_unique<Template>(o, exists);
  if (type == "Sequence") return std::make_unique<Sequence>(o, exists);
  refuse_type(o, "post-processor", type, kSupported);
}

template <typename T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::unique_ptr<PostProcessor> make_post_processor(const JsonObject& file, const IdCheck& exists) {
  return file.has("post_processor") ? make(file.object("post_processor"), exists) : nullptr;
}

Encoding join_encodings(std::vector<Encoding> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  Encoding out;
  for (Encoding& part : parts) {
    append(out.ids, part.ids);
    append(out.pieces, part.pieces);
    append(out.offsets, part.offsets);
    append(out.token_types, part.token_types);
    append(out.special, part.special);
  }
  return out;
}

}  // namespace attnscope::tok
