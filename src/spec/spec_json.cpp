#include "attnscope/spec/spec_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "fields.h"

namespace attnscope {
namespace {

using nlohmann::json;
using spec_fields::Effect;
using spec_fields::Fields;

constexpr const char* kCode = "SP01";

// Paths are bytes on this system, JSON is UTF-8.
json bytes_to_json(const std::string& bytes) {
  if (!first_invalid_utf8(bytes)) return bytes;
  static constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char c : bytes) {
    hex += kDigits[c >> 4];
    hex += kDigits[c & 15];
  }
  return {{"hex", hex}};
}

std::string bytes_from_json(const JsonObject& object, std::string_view key) {
  const json& value = object.require(key);
  if (value.is_array()) {
    object.fail(key, "", R"(a string; a list of names is one string such as "zero,mean")",
                json_type_name(value));
  }
  if (!value.is_object()) return object.string(key);
  const JsonObject wrapped = object.object(key);
  wrapped.forbid_unknown_keys({"hex"});
  const std::string hex = wrapped.string("hex");
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const auto high = kDigits.find(hex[i]);
    const auto low = kDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      wrapped.fail("hex", "", "pairs of lower-case hex digits", quote(hex));
    }
    bytes += static_cast<char>(high * 16 + low);
  }
  if (hex.size() % 2 != 0) wrapped.fail("hex", "", "pairs of lower-case hex digits", quote(hex));
  return bytes;
}

template <typename T>
json value_to_json(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return bytes_to_json(value);
  } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
    return value ? bytes_to_json(*value) : json(nullptr);
  } else if constexpr (std::is_same_v<T, std::optional<std::vector<std::int64_t>>> ||
                       std::is_same_v<T, std::optional<std::int64_t>> ||
                       std::is_same_v<T, std::optional<double>>) {
    return value ? json(*value) : json(nullptr);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    json out = json::array();
    for (const std::string& item : value) out.push_back(bytes_to_json(item));
    return out;
  } else if constexpr (std::is_same_v<T, ShardChoice>) {
    return std::to_string(value.index) + "/" + std::to_string(value.count);
  } else if constexpr (std::is_enum_v<T>) {
    return choice_name(value);
  } else {
    return value;
  }
}

// A value that a parser of command-line text refuses; the message names the key instead.
template <typename Parse>
auto parsed(const JsonObject& in, const char* key, Parse parse) {
  return parse(in.string(key), in.where() + ": key " + quote(in.path_of(key)));
}

template <typename T>
void value_from_json(const JsonObject& in, const char* key, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = bytes_from_json(in, key);
  } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
    value = bytes_from_json(in, key);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> ||
                       std::is_same_v<T, std::optional<std::vector<std::int64_t>>>) {
    value = in.integers_or_empty(key, {.low = 0});
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    const json& list = in.require(key);
    if (!list.is_array()) in.fail(key, "", "an array of strings", json_type_name(list));
    value.clear();
    for (const json& item : list) {
      const json holder = {{key, item}};
      value.push_back(bytes_from_json(JsonObject(holder, in.where(), kCode), key));
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    value = in.boolean(key);
  } else if constexpr (std::is_same_v<T, int>) {
    // −1 stands for a default that depends on the run; validate() knows where it is allowed.
    value = static_cast<int>(in.integer(key, {.low = -1, .high = 1 << 30}));
  } else if constexpr (std::is_same_v<T, std::int64_t> ||
                       std::is_same_v<T, std::optional<std::int64_t>>) {
    value = in.integer(key, {.low = 0});
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>) {
    value = in.number(key);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    const json& number = in.require(key);
    if (!number.is_number_unsigned()) in.fail(key, "", "an integer from 0", number.dump());
    value = number.get<std::uint64_t>();
  } else if constexpr (std::is_same_v<T, ShardChoice>) {
    value = parse_shard(in.string(key));
  } else {
    static_assert(std::is_enum_v<T>);
    value = parsed(in, key, [](const std::string& text, const std::string& option) {
      return parse_choice<T>(text, option);
    });
  }
}

struct Writer {
  json out = json::object();
  template <typename T>
  void operator()(const char* key, const T& value, Effect) {
    json written = value_to_json(value);
    if (!written.is_null()) out[key] = std::move(written);
  }
};

struct ContentWriter {
  json out = json::object();
  template <typename T>
  void operator()(const char* key, const T& value, Effect effect) {
    if (effect != Effect::content) return;
    json written = value_to_json(value);
    if (!written.is_null()) out[key] = std::move(written);
  }
};

// What a value of a field looks like in JSON; `value` is its default.
template <typename T>
json schema_of(const T& value) {
  json schema = json::object();
  if constexpr (std::is_same_v<T, bool>) {
    schema["type"] = "boolean";
  } else if constexpr (std::is_same_v<T, std::optional<std::vector<std::int64_t>>> ||
                       std::is_same_v<T, std::vector<std::int64_t>>) {
    schema = {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}};
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    schema = {{"type", "array"}, {"items", schema_of(std::string())}};
    schema["items"].erase("default");
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>) {
    schema["type"] = "number";
  } else if constexpr (std::is_enum_v<T>) {
    schema["enum"] = choice_names<T>();
  } else if constexpr (std::is_integral_v<T>) {
    schema["type"] = "integer";
    schema["minimum"] = std::is_same_v<T, int> ? -1 : 0;
  } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
    schema = {{"type", "integer"}, {"minimum", 0}};
  } else if constexpr (std::is_same_v<T, ShardChoice>) {
    schema = {{"type", "string"}, {"pattern", "^[0-9]+/[0-9]+$"}};
  } else {
    static_assert(std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<std::string>>);
    schema["anyOf"] = {{{"type", "string"}}, {{"$ref", "#/$defs/bytes"}}};
  }
  json fallback = value_to_json(value);
  if (!fallback.is_null()) schema["default"] = std::move(fallback);
  return schema;
}

struct SchemaWriter {
  json properties = json::object();
  template <typename T>
  void operator()(const char* key, const T& value, Effect) {
    properties[key] = schema_of(value);
  }
};

struct Reader {
  const JsonObject& in;
  std::set<std::string> known = {};
  template <typename T>
  void operator()(const char* key, T& value, Effect) {
    known.insert(key);
    if (in.has(key)) value_from_json(in, key, value);
  }
};

template <typename Spec>
json write_spec(const Spec& spec) {
  Writer writer;
  Fields<Spec>::visit(writer, spec);
  return std::move(writer.out);
}

template <typename Spec>
Spec read_spec(const JsonObject& object) {
  Spec spec;
  Reader reader{object};
  Fields<Spec>::visit(reader, spec);
  object.forbid_unknown_keys(reader.known);
  return spec;
}

// The alternative of AnySpec whose verb is `verb`.
template <std::size_t I = 0>
AnySpec read_any(const std::string& verb, const JsonObject& spec, std::vector<std::string> seen) {
  if constexpr (I == std::variant_size_v<AnySpec>) {
    throw Error(ErrorKind::input, kCode,
                {.where = spec.where(),
                 .what = "unknown verb " + quote(verb),
                 .expected = join(seen, ", ")});
  } else {
    using Spec = std::variant_alternative_t<I, AnySpec>;
    if (verb == Fields<Spec>::verb) return read_spec<Spec>(spec);
    seen.emplace_back(Fields<Spec>::verb);
    return read_any<I + 1>(verb, spec, std::move(seen));
  }
}

}  // namespace

template <typename Spec>
std::string verb_of() {
  return Fields<Spec>::verb;
}

template <typename Spec>
std::string spec_to_json(const Spec& spec) {
  return write_spec(spec).dump(2);
}

template <typename Spec>
Spec spec_from_json(std::string_view text, const std::string& where) {
  const json document = parse_json(text, where, kCode);
  return read_spec<Spec>(JsonObject(document, where, kCode));
}

template <typename Spec>
Spec load_spec_file(const std::string& path) {
  constexpr std::uint64_t kMaxBytes = 16 << 20;
  return spec_from_json<Spec>(read_text_file(path, kCode, kMaxBytes), escape_untrusted(path, 4096));
}

template <typename Spec>
std::string spec_schema() {
  const Spec defaults;
  SchemaWriter writer;
  Fields<Spec>::visit(writer, defaults);
  const json bytes = {
      {"description", "text that is not UTF-8, as lower-case hex digits"},
      {"type", "object"},
      {"properties", {{"hex", {{"type", "string"}, {"pattern", "^([0-9a-f]{2})*$"}}}}},
      {"required", {"hex"}},
      {"additionalProperties", false}};
  const std::string verb = Fields<Spec>::verb;
  const json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "attnscope " + verb + " --spec"},
      {"description", "Keys are the long options of `attnscope " + verb +
                          " --help` with _ for -; a key that is absent or null keeps its default."},
      {"type", "object"},
      {"properties", std::move(writer.properties)},
      {"additionalProperties", false},
      {"$defs", {{"bytes", bytes}}}};
  return schema.dump(2);
}

std::string envelope_to_json(const Envelope& envelope) {
  json document;
  std::visit(
      [&](const auto& spec) {
        document["verb"] = Fields<std::decay_t<decltype(spec)>>::verb;
        document["spec"] = write_spec(spec);
      },
      envelope.spec);
  document["command_line"] = value_to_json(envelope.command_line);
  return document.dump();
}

Envelope envelope_from_json(std::string_view text, const std::string& where) {
  const json document = parse_json(text, where, kCode);
  const JsonObject object(document, where, kCode);
  object.forbid_unknown_keys({"verb", "spec", "command_line"});
  Envelope envelope;
  envelope.spec = read_any(object.string("verb"), object.object("spec"), {});
  if (object.has("command_line")) value_from_json(object, "command_line", envelope.command_line);
  return envelope;
}

template <typename Spec>
std::string resolved_options_json(const Spec& spec) {
  ContentWriter writer;
  Fields<Spec>::visit(writer, spec);
  return writer.out.dump();
}

template <typename Spec>
std::string config_hash(const Spec& spec, const std::vector<std::string>& input_hashes) {
  const json document = {{"options", resolved_options_json(spec)}, {"inputs", input_hashes}};
  return sha256_of(document.dump());
}

std::vector<std::string> differing_keys(std::string_view resolved_a, std::string_view resolved_b) {
  const json a = parse_json(resolved_a, "options", kCode);
  const json b = parse_json(resolved_b, "options", kCode);
  std::vector<std::string> keys;
  for (const auto& [key, value] : a.items()) {
    if (!b.contains(key) || b.at(key) != value) keys.push_back(key);
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) keys.push_back(key);
  }
  return keys;
}

#define ATTNSCOPE_SPEC(Spec)                                                \
  template std::string verb_of<Spec>();                                     \
  template std::string spec_to_json<Spec>(const Spec&);                     \
  template Spec spec_from_json<Spec>(std::string_view, const std::string&); \
  template Spec load_spec_file<Spec>(const std::string&);                   \
  template std::string spec_schema<Spec>();                                 \
  template std::string resolved_options_json<Spec>(const Spec&);            \
  template std::string config_hash<Spec>(const Spec&, const std::vector<std::string>&)
ATTNSCOPE_SPEC(CaptureSpec);
ATTNSCOPE_SPEC(DemoSpec);
ATTNSCOPE_SPEC(DoctorSpec);
ATTNSCOPE_SPEC(InspectSpec);
ATTNSCOPE_SPEC(TokenizeSpec);
ATTNSCOPE_SPEC(StatsSpec);
ATTNSCOPE_SPEC(ShowSpec);
ATTNSCOPE_SPEC(ExportSpec);
ATTNSCOPE_SPEC(VerifySpec);
ATTNSCOPE_SPEC(MergeSpec);
ATTNSCOPE_SPEC(DiffSpec);
ATTNSCOPE_SPEC(ViewSpec);
ATTNSCOPE_SPEC(AblateSpec);
ATTNSCOPE_SPEC(PatchSpec);
ATTNSCOPE_SPEC(VerdictSpec);
ATTNSCOPE_SPEC(LensSpec);
#undef ATTNSCOPE_SPEC

}  // namespace attnscope
