#include "attnscope/support/json.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

using nlohmann::json;

// Builds the DOM while checking what nlohmann's own builder lets pass.
class StrictBuilder : public nlohmann::json_sax<json> {
 public:
  StrictBuilder(std::string_view text, const JsonLimits& limits, std::string where,
                std::string code)
      : text_(text), limits_(limits), where_(std::move(where)), code_(std::move(code)) {}

  json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t& text) override {
    if (!std::isfinite(v)) fail("the number " + quote(text) + " is too large");
    return put(v);
  }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }
  bool key(string_t& k) override {
    if (k.size() > limits_.max_key_bytes) fail("key of " + std::to_string(k.size()) + " bytes");
    if (stack_.back()->contains(k)) fail("duplicate key " + quote(k));
    key_ = std::move(k);
    return true;
  }
  bool parse_error(std::size_t bytes_read, const std::string&, const json::exception&) override {
    fail(describe(find_json_problem(text_, bytes_read), text_));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, code_, {.where = where_, .what = what});
  }

  template <typename V>
  json* place(V&& value) {
    if (stack_.empty()) {
      root_ = std::forward<V>(value);
      return &root_;
    }
    json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::forward<V>(value));
      return &parent.back();
    }
    json& slot = parent[key_];
    slot = std::forward<V>(value);
    return &slot;
  }

  template <typename V>
  bool put(V&& value) {
    place(std::forward<V>(value));
    return true;
  }

  bool open(json value) {
    if (stack_.size() >= limits_.max_depth) {
      fail("nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    }
    stack_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  JsonLimits limits_;
  std::string where_;
  std::string code_;
  json root_;
  std::vector<json*> stack_;
  std::string key_;
};

// A number that is well written and fits no double.
bool is_too_large(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc::result_out_of_range && end == text.data() + text.size();
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+' || c == '-' ||
         c == '.';
}

// "nul", "-": looks like a word or number and is no value of JSON.
bool is_broken_word(std::string_view text) {
  const bool value = text == "true" || text == "false" || text == "null" || is_too_large(text) ||
                     parse_number(text).has_value();
  return is_word_character(text.front()) && !value;
}

// A piece of the text as a person sees it: a string, a word or number, a single character.
struct Token {
  std::size_t begin = 0;
  std::string_view text;
  bool closed = false;             // of a string: its second quote is there
  bool ends_in_surrogate = false;  // of a string: the half of a pair, \uD8xx to \uDBxx
  bool is_string() const { return text.starts_with('"'); }
};

Token string_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  Token token{.begin = begin, .text = text.substr(begin, end + 1 - begin)};
  token.closed = end < text.size();
  const std::string_view tail = text.substr(0, std::min(end, text.size()));
  const std::size_t escape = tail.rfind("\\u");
  token.ends_in_surrogate = escape != std::string_view::npos && escape + 6 == tail.size() &&
                            (tail[escape + 2] == 'd' || tail[escape + 2] == 'D') &&
                            std::string_view("89abAB").find(tail[escape + 3]) != tail.npos;
  return token;
}

// The one that holds the byte at `at`.
Token token_with(std::string_view text, std::size_t at) {
  for (std::size_t begin = 0;;) {
    Token token{.begin = begin};
    if (text[begin] == '"') {
      token = string_at(text, begin);
    } else {
      std::size_t end = begin;
      while (end < text.size() && is_word_character(text[end])) ++end;
      if (end == begin) next_code_point(text, end);
      token.text = text.substr(begin, end - begin);
    }
    begin += token.text.size();
    if (at < begin || begin >= text.size()) return token;
  }
}

std::string show_number(double v) {
  std::string text = format_number(v);
  return text;
}

}  // namespace

std::string json_type_name(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "an array";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return "true or false";
    case json::value_t::number_float:
      return "a fraction";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return "an integer";
    default:
      return "binary data";
  }
}

JsonProblem find_json_problem(std::string_view text, std::size_t bytes_read) {
  // The parser counts the bytes it has read, the one that it did not like included.
  const std::size_t last = bytes_read == 0 ? 0 : bytes_read - 1;
  if (trim(text).empty()) return {0, "the text is empty"};
  Token token = token_with(text, std::min(last, text.size() - 1));
  if (last >= text.size()) {
    const bool in_string = token.is_string() && !token.closed;
    return {text.size(), in_string ? "the text ends inside a string" : "the text ends too early"};
  }
  if (token.is_string() &&
      (last + 1 < token.begin + token.text.size() || token.ends_in_surrogate)) {
    const bool control = static_cast<unsigned char>(text[last]) < 0x20;
    return {last, control ? "a control character in a string is not written as an escape"
                          : "a wrong escape in a string"};
  }
  // The parser notices a broken word at the character behind it.
  if (token.begin > 0) {
    const Token before = token_with(text, token.begin - 1);
    if (is_broken_word(before.text)) token = before;
  }
  if (is_too_large(token.text)) {
    return {token.begin, "the number " + quote(token.text, 40) + " is too large"};
  }
  // What some programs write for a number that is none.
  const bool no_number = token.text == "NaN" || token.text.ends_with("Infinity");
  return {token.begin, "unexpected " + quote(token.text, 40) +
                           (no_number ? ", which JSON has not; write null" : "")};
}

std::string describe(const JsonProblem& problem, std::string_view text) {
  const std::string_view before = text.substr(0, problem.byte);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = lines == 0 ? 0 : before.rfind('\n') + 1;
  const std::string line =
      text.find('\n') == std::string_view::npos ? "" : "line " + std::to_string(lines + 1) + ", ";
  return "not valid JSON at " + line + "column " +
         std::to_string(count_code_points(before.substr(line_start)) + 1) + " (byte " +
         std::to_string(problem.byte) + "): " + problem.reason;
}

json parse_json(std::string_view text, const std::string& where, const std::string& code,
                const JsonLimits& limits) {
  if (const auto bad = first_invalid_utf8(text)) {
    throw Error(ErrorKind::input, code,
                {.where = where, .what = "not valid UTF-8 at byte " + std::to_string(*bad)});
  }
  StrictBuilder builder(text, limits, where, code);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

JsonObject::JsonObject(const json& value, std::string where, std::string code, std::string path)
    : value_(&value), where_(std::move(where)), code_(std::move(code)), path_(std::move(path)) {
  if (!value.is_object()) {
    throw Error(ErrorKind::input, code_,
                {.where = where_,
                 .what = path_.empty() ? "the top level" : "key " + quote(path_),
                 .expected = "an object",
                 .got = json_type_name(value)});
  }
}

std::string JsonObject::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void JsonObject::fail(std::string_view key, const std::string& what, const std::string& expected,
                      const std::string& got) const {
  throw Error(ErrorKind::input, code_,
              {.where = where_,
               .what = "key " + quote(path_of(key)) + (what.empty() ? "" : " " + what),
               .expected = expected,
               .got = got});
}

const json* JsonObject::find(std::string_view key) const {
  const auto it = value_->find(key);
  return it == value_->end() || it->is_null() ? nullptr : &*it;
}

bool JsonObject::has(std::string_view key) const {
  return find(key) != nullptr;
}

const json& JsonObject::require(std::string_view key) const {
  const json* found = find(key);
  if (found == nullptr) fail(key, "is missing", "", "");
  return *found;
}

std::int64_t JsonObject::integer(std::string_view key, IntegerRange range) const {
  const json& v = require(key);
  if (!v.is_number_integer()) fail(key, "", "an integer", json_type_name(v));
  const bool too_large =
      v.is_number_unsigned() &&
      v.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t n = too_large ? 0 : v.get<std::int64_t>();
  if (too_large || n < range.low || n > range.high) {
    const std::string got = too_large ? std::to_string(v.get<std::uint64_t>()) : std::to_string(n);
    fail(key, "is out of range", std::to_string(range.low) + " to " + std::to_string(range.high),
         got);
  }
  return n;
}

std::int64_t JsonObject::integer_or(std::string_view key, std::int64_t fallback,
                                    IntegerRange range) const {
  return has(key) ? integer(key, range) : fallback;
}

double JsonObject::number(std::string_view key, NumberRange range) const {
  const json& v = require(key);
  if (!v.is_number()) fail(key, "", "a number", json_type_name(v));
  const double x = v.get<double>();
  if (!(x >= range.low && x <= range.high)) {
    fail(key, "is out of range", show_number(range.low) + " to " + show_number(range.high),
         show_number(x));
  }
  return x;
}

double JsonObject::number_or(std::string_view key, double fallback, NumberRange range) const {
  return has(key) ? number(key, range) : fallback;
}

bool JsonObject::boolean(std::string_view key) const {
  const json& v = require(key);
  if (!v.is_boolean()) fail(key, "", "true or false", json_type_name(v));
  return v.get<bool>();
}

bool JsonObject::boolean_or(std::string_view key, bool fallback) const {
  return has(key) ? boolean(key) : fallback;
}

std::string JsonObject::string(std::string_view key) const {
  const json& v = require(key);
  if (!v.is_string()) fail(key, "", "a string", json_type_name(v));
  return v.get<std::string>();
}

std::string JsonObject::string_or(std::string_view key, std::string_view fallback) const {
  return has(key) ? string(key) : std::string(fallback);
}

std::vector<std::string> JsonObject::strings_or_empty(std::string_view key) const {
  std::vector<std::string> out;
  const json* v = find(key);
  if (v == nullptr) return out;
  if (!v->is_array()) fail(key, "", "an array of strings", json_type_name(*v));
  for (const json& item : *v) {
    if (!item.is_string()) fail(key, "", "an array of strings", json_type_name(item) + " in it");
    out.push_back(item.get<std::string>());
  }
  return out;
}

std::vector<std::int64_t> JsonObject::integers_or_empty(std::string_view key,
                                                        IntegerRange range) const {
  std::vector<std::int64_t> out;
  const json* v = find(key);
  if (v == nullptr) return out;
  if (!v->is_array()) fail(key, "", "an array of integers", json_type_name(*v));
  for (std::size_t i = 0; i < v->size(); ++i) {
    const json wrapped = {{"item", (*v)[i]}};
    out.push_back(JsonObject(wrapped, where_, code_, path_of(key) + "[" + std::to_string(i) + "]")
                      .integer("item", range));
  }
  return out;
}

JsonObject JsonObject::object(std::string_view key) const {
  return JsonObject(require(key), where_, code_, path_of(key));
}

void JsonObject::forbid_unknown_keys(const std::set<std::string>& known) const {
  for (const auto& [key, value] : value_->items()) {
    if (known.contains(key)) continue;
    const auto near = nearest(key, {known.begin(), known.end()});
    throw Error(ErrorKind::input, code_,
                {.where = where_,
                 .what = "unknown key " + quote(path_of(key)),
                 .next = near.empty() ? "" : "did you mean " + quote(near.front()) + "?"});
  }
}

}  // namespace attnscope
