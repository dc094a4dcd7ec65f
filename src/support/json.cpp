#include "attnscope/support/json.h"

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
  StrictBuilder(const JsonLimits& limits, std::string where, std::string code)
      : limits_(limits), where_(std::move(where)), code_(std::move(code)) {}

  json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t& text) override {
    if (!std::isfinite(v)) fail("number " + quote(text) + " does not fit a double");
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
  bool parse_error(std::size_t position, const std::string&, const json::exception& e) override {
    std::string what = e.what();
    const std::size_t colon = what.rfind(": ");
    if (colon != std::string::npos) what = what.substr(colon + 2);
    // nlohmann counts the bytes read, the bad one included.
    const std::size_t at = position == 0 ? 0 : position - 1;
    fail("not valid JSON at byte " + std::to_string(at) + ": " + escape_untrusted(what, 200));
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

  JsonLimits limits_;
  std::string where_;
  std::string code_;
  json root_;
  std::vector<json*> stack_;
  std::string key_;
};

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

json parse_json(std::string_view text, const std::string& where, const std::string& code,
                const JsonLimits& limits) {
  if (const auto bad = first_invalid_utf8(text)) {
    throw Error(ErrorKind::input, code,
                {.where = where, .what = "not valid UTF-8 at byte " + std::to_string(*bad)});
  }
  StrictBuilder builder(limits, where, code);
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
