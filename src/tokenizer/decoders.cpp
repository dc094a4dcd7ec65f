#include "decoders.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attnscope/support/utf8.h"
#include "byte_level.h"
#include "loading.h"
#include "metaspace.h"
#include "patterns.h"
#include "unicode.h"

namespace attnscope::tok {
namespace {

constexpr std::string_view kSupported =
    "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece";

using Pieces = std::vector<std::string>;

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  std::size_t pos = 0;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, pos)) {
    out += text.substr(pos, at - pos);
    out += to;
    pos = at + from.size();
  }
  out += text.substr(pos);
  return out;
}

// The WordPiece decoder's clean-up knows one contraction more than the tokenizer's.
enum class Contractions { common, with_do_not };

std::string clean_up(std::string text, Contractions contractions) {
  constexpr std::array<std::array<std::string_view, 2>, 11> kRules = {{{" .", "."},
                                                                       {" ?", "?"},
                                                                       {" !", "!"},
                                                                       {" ,", ","},
                                                                       {" ' ", "'"},
                                                                       {" n't", "n't"},
                                                                       {" 'm", "'m"},
                                                                       {" do not", " don't"},
                                                                       {" 's", "'s"},
                                                                       {" 've", "'ve"},
                                                                       {" 're", "'re"}}};
  for (const auto& [from, to] : kRules) {
    if (from == " do not" && contractions == Contractions::common) continue;
    text = replace_all(text, from, to);
  }
  return text;
}

class ByteLevel final : public Decoder {
 public:
  void apply(Pieces& pieces) const override {
    std::string bytes;
    for (const std::string& piece : pieces) append_piece_bytes(piece, bytes);
    pieces = {repair_utf8(bytes)};
  }
};

class WordPiece final : public Decoder {
 public:
  explicit WordPiece(const JsonObject& o)
      : prefix_(o.string_or("prefix", "##")), cleanup_(o.boolean_or("cleanup", true)) {}

  void apply(Pieces& pieces) const override {
    bool first = true;
    for (std::string& piece : pieces) {
      if (!first) {
        if (!prefix_.empty() && piece.starts_with(prefix_)) {
          piece.erase(0, prefix_.size());
        } else {
          piece.insert(piece.begin(), ' ');
        }
      }
      if (cleanup_) piece = clean_up(std::move(piece), Contractions::with_do_not);
      first = false;
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const JsonObject& o) {
    const Metaspace metaspace = read_metaspace(o);
    append_utf8(mark_, metaspace.replacement);
    drop_first_ = metaspace.scheme != Metaspace::Prepend::never;
  }
  void apply(Pieces& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i] = replace_all(pieces[i], mark_, i == 0 && drop_first_ ? "" : " ");
    }
  }

 private:
  std::string mark_;
  bool drop_first_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const JsonObject& o) : suffix_(o.string_or("suffix", "</w>")) {
    if (suffix_.empty()) o.fail("suffix", "", "a string that is not empty", "\"\"");
  }
  void apply(Pieces& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i] = replace_all(pieces[i], suffix_, i + 1 == pieces.size() ? "" : " ");
    }
  }

 private:
  std::string suffix_;
};

// "<0x0A>" → byte 0x0A.
std::optional<char> parse_byte_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : piece.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<char>(value);
}

class ByteFallback final : public Decoder {
 public:
  void apply(Pieces& pieces) const override {
    Pieces out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (first_invalid_utf8(bytes)) {
        out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
      } else {
        out.push_back(bytes);
      }
      bytes.clear();
    };
    for (std::string& piece : pieces) {
      if (const auto byte = parse_byte_piece(piece)) {
        bytes.push_back(*byte);
      } else {
        flush();
        out.push_back(std::move(piece));
      }
    }
    flush();
    pieces = std::move(out);
  }
};

class Fuse final : public Decoder {
 public:
  void apply(Pieces& pieces) const override {
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    pieces = {std::move(all)};
  }
};

class Strip final : public Decoder {
 public:
  explicit Strip(const JsonObject& o)
      : content_(code_point(o, "content", "")),
        start_(o.integer("start", {.low = 0})),
        stop_(o.integer("stop", {.low = 0})) {}

  void apply(Pieces& pieces) const override {
    std::string content;
    append_utf8(content, content_);
    for (std::string& piece : pieces) {
      std::size_t begin = 0;
      for (std::int64_t n = 0; n < start_ && piece.substr(begin).starts_with(content); ++n) {
        begin += content.size();
      }
      piece.erase(0, begin);
      for (std::int64_t n = 0; n < stop_ && piece.ends_with(content); ++n) {
        piece.resize(piece.size() - content.size());
      }
    }
  }

 private:
  char32_t content_;
  std::int64_t start_;
  std::int64_t stop_;
};

class Replace final : public Decoder {
 public:
  explicit Replace(const JsonObject& o)
      : pattern_(make_pattern(o, "pattern")), content_(o.string("content")) {}
  void apply(Pieces& pieces) const override {
    std::vector<Match> matches;
    for (std::string& piece : pieces) {
      matches.clear();
      pattern_->find(piece, matches);
      std::string out;
      for (const Match& m : matches) {
        out += m.hit ? content_ : piece.substr(m.begin, m.end - m.begin);
      }
      piece = std::move(out);
    }
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

std::unique_ptr<Decoder> make(const JsonObject& object);

class Sequence final : public Decoder {
 public:
  explicit Sequence(const JsonObject& o) {
    for_each_object(o, "decoders",
                    [this](const JsonObject& part) { parts_.push_back(make(part)); });
  }
  void apply(Pieces& pieces) const override {
    for (const auto& part : parts_) part->apply(pieces);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

std::unique_ptr<Decoder> make(const JsonObject& o) {
  const std::string type = o.string("type");
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "WordPiece") return std::make_unique<WordPiece>(o);
  if (type == "Metaspace") return std::make_unique<MetaspaceDecoder>(o);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(o);
  if (type == "ByteFallback") return std::make_unique<ByteFallback>();
  if (type == "Fuse") return std::make_unique<Fuse>();
  if (type == "Strip") return std::make_unique<Strip>(o);
  if (type == "Replace") return std::make_unique<Replace>(o);
  if (type == "Sequence") return std::make_unique<Sequence>(o);
  refuse_type(o, "decoder", type, kSupported);
}

}  // namespace

std::unique_ptr<Decoder> make_decoder(const JsonObject& file) {
  return file.has("decoder") ? make(file.object("decoder")) : nullptr;
}

std::string clean_up_spaces(std::string text) {
  return clean_up(std::move(text), Contractions::common);
}

}  // namespace attnscope::tok
