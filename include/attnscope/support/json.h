// File: json.h
// Strict reading of JSON that came from a file: bounded depth, no duplicate keys, typed access
// whose errors name the file and the key path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

struct JsonLimits {
  std::size_t max_depth = 64;
  std::size_t max_key_bytes = 4096;
};

// Parses `text`. `where` and `code` go into the error: bad UTF-8, bad syntax (with line,
// column and byte), nesting beyond the limit, a duplicate key, a number that does not fit.
nlohmann::json parse_json(std::string_view text, const std::string& where, const std::string& code,
                          const JsonLimits& limits = {});

// Where a parser of JSON stopped, and why, in plain words.
struct JsonProblem {
  std::size_t byte = 0;  // offset in the text
  std::string reason;    // 'unexpected "NaN"', "the text ends inside a string", …
};

// `bytes_read` is what the parser's parse_error() says.
JsonProblem find_json_problem(std::string_view text, std::size_t bytes_read);
// "not valid JSON at line 3, column 8 (byte 41): …"; without the line if the text has only one.
std::string describe(const JsonProblem& problem, std::string_view text);

struct IntegerRange {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// A view of one JSON object with typed, range-checked access. A key whose value is null counts as
// absent. Integers must be written as integers: 2.7 and "12" are errors. The view must not outlive
// the value.
class JsonObject {
 public:
  // Throws if `value` is not an object. `path` is the key path so far ("" at the top).
  JsonObject(const nlohmann::json& value, std::string where, std::string code,
             std::string path = "");

  bool has(std::string_view key) const;
  const nlohmann::json* find(std::string_view key) const;  // null when absent or JSON null
  const nlohmann::json& require(std::string_view key) const;

  std::int64_t integer(std::string_view key, IntegerRange range = {}) const;
  std::int64_t integer_or(std::string_view key, std::int64_t fallback,
                          IntegerRange range = {}) const;
  double number(std::string_view key, NumberRange range = {}) const;
  double number_or(std::string_view key, double fallback, NumberRange range = {}) const;
  bool boolean(std::string_view key) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  std::string string(std::string_view key) const;
  std::string string_or(std::string_view key, std::string_view fallback) const;
  std::vector<std::string> strings_or_empty(std::string_view key) const;
  std::vector<std::int64_t> integers_or_empty(std::string_view key, IntegerRange range = {}) const;
  JsonObject object(std::string_view key) const;

  // Throws on the first key that is not in `known`, naming the nearest known one.
  void forbid_unknown_keys(const std::set<std::string>& known) const;

  // "a.b.key", for messages.
  std::string path_of(std::string_view key) const;
  const std::string& where() const { return where_; }
  const nlohmann::json& value() const { return *value_; }

  [[noreturn]] void fail(std::string_view key, const std::string& what, const std::string& expected,
                         const std::string& got) const;

 private:
  const nlohmann::json* value_;
  std::string where_;
  std::string code_;
  std::string path_;
};

// Name of a JSON value's type as a person says it: "a string", "a number", …
std::string json_type_name(const nlohmann::json& value);

}  // namespace attnscope
