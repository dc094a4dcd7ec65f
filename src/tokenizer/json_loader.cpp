#include "json_loader.h"

#include <cmath>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/json.h"
#include "attnscope/support/utf8.h"

namespace attnscope::tok {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxKeyBytes = 4096;

// Sends the values of model.vocab and model.merges to the tables and everything else to a document.
class Reader final : public nlohmann::json_sax<json> {
 public:
  Reader(std::string_view text, TokenizerFile& file) : text_(text), file_(file) {}

  bool null() override { return section_ == Section::document ? put(nullptr) : unexpected("null"); }
  bool boolean(bool v) override {
    return section_ == Section::document ? put(v) : unexpected("true or false");
  }
  bool number_integer(number_integer_t v) override {
    if (section_ == Section::document) return put(v);
    if (section_ == Section::map) fail_id(std::to_string(v));
    return score(static_cast<double>(v));
  }
  bool number_unsigned(number_unsigned_t v) override {
    if (section_ == Section::document) return put(v);
    if (section_ != Section::map) return score(static_cast<double>(v));
    if (v > static_cast<number_unsigned_t>(kMaxTokenId)) fail_id(std::to_string(v));
    return id(static_cast<std::int64_t>(v));
  }
  bool number_float(number_float_t v, const string_t& text) override {
    if (!std::isfinite(v)) fail("TK01", "the number " + quote(text) + " is too large");
    if (section_ == Section::document) return put(v);
    return section_ == Section::map ? unexpected("a fraction") : score(v);
  }
  bool string(string_t& v) override {
    switch (section_) {
      case Section::document:
        return put(std::move(v));
      case Section::map:
        return unexpected("a string");
      case Section::list:
        if (depth_ != kModelDepth + 2 || entry_size_ != 0) return unexpected("a string");
        piece_ = std::move(v);
        ++entry_size_;
        return true;
      case Section::merges:
        return depth_ == kModelDepth + 1 ? merge_line(v) : merge_part(std::move(v));
    }
    return false;
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    if (section_ != Section::document) return unexpected("an object");
    if (at_model_key("vocab")) {
      enter(Section::map, ModelTables::Form::map);
      return true;
    }
    return open(json::object());
  }

  bool end_object() override {
    if (section_ == Section::map) return leave();
    return close();
  }

  bool start_array(std::size_t) override {
    switch (section_) {
      case Section::document:
        if (at_model_key("vocab")) {
          enter(Section::list, ModelTables::Form::list);
          return true;
        }
        if (at_model_key("merges")) {
          enter(Section::merges, file_.tables.vocabulary_form);
          file_.tables.has_merges = true;
          return true;
        }
        return open(json::array());
      case Section::list:
      case Section::merges:
        if (depth_ != kModelDepth + 1) return unexpected("an array");
        ++depth_;
        entry_size_ = 0;
        return true;
      case Section::map:
        return unexpected("an array");
    }
    return false;
  }

  bool end_array() override {
    if (section_ == Section::document) return close();
    if (depth_ == kModelDepth + 1) return leave();
    --depth_;
    if (entry_size_ != 2) {
      if (section_ == Section::list) {
        fail("TK03", entry_name() + " is not a pair of piece and score");
      }
      fail("TK08", entry_name() + " is not a pair of pieces");
    }
    if (section_ == Section::merges) file_.tables.merges.add(piece_, right_);
    return true;
  }

  bool key(string_t& k) override {
    if (section_ == Section::map) {
      piece_ = std::move(k);
      return true;
    }
    if (k.size() > kMaxKeyBytes) fail("TK01", "key of " + std::to_string(k.size()) + " bytes");
    if (stack_.back()->contains(k)) fail("TK01", "duplicate key " + quote(k));
    if (depth_ == kModelDepth && in_model_ && is_table_key(k) && seen_table(k)) {
      fail("TK01", "duplicate key " + quote(k));
    }
    key_ = std::move(k);
    if (depth_ == 1) in_model_ = key_ == "model";
    return true;
  }

  bool parse_error(std::size_t bytes_read, const std::string&, const json::exception&) override {
    fail("TK01", describe(find_json_problem(text_, bytes_read), text_));
  }

 private:
  enum class Section { document, map, list, merges };
  static constexpr std::size_t kModelDepth = 2;  // inside {"model": {

  [[noreturn]] void fail(const std::string& code, const std::string& what) const {
    throw Error(ErrorKind::input, code, {.where = file_.where, .what = what});
  }

  std::string entry_name() const {
    return section_ == Section::merges
               ? "merge " + std::to_string(file_.tables.merges.size())
               : "model.vocab entry " + std::to_string(file_.tables.vocabulary.size());
  }

  [[noreturn]] bool unexpected(const std::string& type) const {
    if (section_ == Section::merges) fail("TK08", entry_name() + " holds " + type);
    if (section_ == Section::map) {
      fail("TK03", "the id of " + quote(piece_) + " is " + type + ", expected an integer");
    }
    fail("TK03", entry_name() + " holds " + type + ", expected a piece and its score");
  }

  bool at_model_key(std::string_view name) const {
    return in_model_ && depth_ == kModelDepth && key_ == name;
  }
  static bool is_table_key(std::string_view k) { return k == "vocab" || k == "merges"; }
  bool seen_table(std::string_view k) const {
    return k == "vocab" ? file_.tables.vocabulary_form != ModelTables::Form::absent
                        : file_.tables.has_merges;
  }

  void enter(Section section, ModelTables::Form form) {
    section_ = section;
    file_.tables.vocabulary_form = form;
    ++depth_;
  }
  bool leave() {
    section_ = Section::document;
    --depth_;
    return true;
  }

  void check_piece(std::string_view piece) const {
    if (piece.size() > kMaxPieceBytes) {
      fail("TK09", "a piece of " + std::to_string(piece.size()) + " bytes that begins " +
                       quote(piece, 40) + "; the limit is " + std::to_string(kMaxPieceBytes));
    }
  }

  [[noreturn]] void fail_id(const std::string& got) const {
    throw Error(ErrorKind::input, "TK07",
                {.where = file_.where,
                 .what = "id of token " + quote(piece_),
                 .expected = "0 … " + std::to_string(kMaxTokenId),
                 .got = got});
  }

  bool id(std::int64_t value) {
    check_piece(piece_);
    if (!file_.tables.vocabulary.add(piece_, value)) {
      fail("TK06", "token " + quote(piece_) + " is in the vocabulary twice");
    }
    return true;
  }

  bool score(double value) {
    if (section_ != Section::list || depth_ != kModelDepth + 2 || entry_size_ != 1) {
      return unexpected("a number");
    }
    check_piece(piece_);
    if (!file_.tables.vocabulary.add(piece_,
                                     static_cast<std::int64_t>(file_.tables.scores.size()))) {
      fail("TK06", "piece " + quote(piece_) + " is in the vocabulary twice");
    }
    file_.tables.scores.push_back(value);
    ++entry_size_;
    return true;
  }

  bool merge_line(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      fail("TK08", entry_name() + " is " + quote(line) + ", expected two pieces and one space");
    }
    file_.tables.merges.add(line.substr(0, space), line.substr(space + 1));
    return true;
  }

  bool merge_part(std::string part) {
    if (entry_size_ == 2) return unexpected("a third piece");
    (entry_size_ == 0 ? piece_ : right_) = std::move(part);
    ++entry_size_;
    return true;
  }

  json* place(json value) {
    if (stack_.empty()) {
      file_.document = std::move(value);
      return &file_.document;
    }
    json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }

  bool put(json value) {
    place(std::move(value));
    return true;
  }

  bool open(json value) {
    if (depth_ >= kMaxDepth) {
      fail("TK01", "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    stack_.push_back(place(std::move(value)));
    ++depth_;
    return true;
  }

  bool close() {
    stack_.pop_back();
    --depth_;
    return true;
  }

  std::string_view text_;
  TokenizerFile& file_;
  Section section_ = Section::document;
  std::size_t depth_ = 0;
  bool in_model_ = false;
  std::vector<json*> stack_;
  std::string key_;
  std::string piece_;  // of the vocabulary entry at hand, or the left one of a merge
  std::string right_;
  int entry_size_ = 0;  // values read of the list entry or merge at hand
};

}  // namespace

void MergeList::add(std::string_view left, std::string_view right) {
  merges_.push_back({bytes_.size(), static_cast<std::uint32_t>(left.size()),
                     static_cast<std::uint32_t>(right.size())});
  bytes_ += left;
  bytes_ += right;
}

std::string_view MergeList::left(std::size_t i) const {
  return std::string_view(bytes_).substr(merges_[i].begin, merges_[i].left_bytes);
}

std::string_view MergeList::right(std::size_t i) const {
  return std::string_view(bytes_).substr(merges_[i].begin + merges_[i].left_bytes,
                                         merges_[i].right_bytes);
}

TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& where) {
  TokenizerFile file;
  file.where = where;
  // An entry of a vocabulary or a merge takes some 20 bytes of the file.
  file.tables.vocabulary.reserve(text.size() / 40);
  Reader reader(text, file);
  json::sax_parse(text.begin(), text.end(), &reader);
  if (const auto twice = file.tables.vocabulary.finish()) {
    throw Error(ErrorKind::input, "TK06",
                {.where = where,
                 .what = "id " + std::to_string(file.tables.vocabulary.id_at(*twice)) +
                         " is given twice, the second time to " +
                         quote(file.tables.vocabulary.piece_at(*twice))});
  }
  return file;
}

}  // namespace attnscope::tok
