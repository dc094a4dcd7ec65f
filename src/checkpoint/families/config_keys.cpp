#include "config_keys.h"

#include <nlohmann/json.hpp>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr IntegerRange kTokenIdRange{-1, (std::int64_t{1} << 31) - 1};

bool written_as_null(const JsonObject& object, std::string_view key) {
  const auto it = object.value().find(key);
  return it != object.value().end() && it->is_null();
}

void require_no_null(const JsonObject& object, std::string_view key, const char* expected) {
  if (written_as_null(object, key)) object.fail(key, "", expected, "null");
}

struct NamedActivation {
  const char* name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_python_tanh", Activation::gelu_tanh},
    {"gelu_accurate", Activation::gelu_tanh},
    {"relu", Activation::relu},
    {"silu", Activation::silu},
    {"swish", Activation::silu},
    {"linear", Activation::identity},
};

}  // namespace

void not_supported(const JsonObject& object, std::string_view key, const std::string& got,
                   const std::vector<std::string>& supported) {
  std::string list = join(supported, ", ");
  throw Error(ErrorKind::input, "CF10",
              {.where = object.where(),
               .what = "key " + quote(object.path_of(key)) + ": not supported: " + got,
               .next = list.empty() ? "" : "supported: " + list});
}

std::string_view present_key(const JsonObject& object, Keys keys) {
  for (const std::string_view key : keys) {
    if (object.has(key)) return key;
  }
  for (const std::string_view key : keys) {
    if (written_as_null(object, key)) return key;
  }
  return *keys.begin();
}

int read_size(const JsonObject& object, Keys keys, int fallback, IntegerRange range) {
  const std::string_view key = present_key(object, keys);
  require_no_null(object, key, "an integer");
  return static_cast<int>(object.integer_or(key, fallback, range));
}

int read_size_or_null(const JsonObject& object, std::string_view key, int fallback, int if_null,
                      IntegerRange range) {
  if (written_as_null(object, key)) return if_null;
  return static_cast<int>(object.integer_or(key, fallback, range));
}

double read_number(const JsonObject& object, std::string_view key, double fallback,
                   NumberRange range) {
  require_no_null(object, key, "a number");
  return object.number_or(key, fallback, range);
}

double read_number_or_none(const JsonObject& object, std::string_view key, double fallback,
                           NumberRange range) {
  return written_as_null(object, key) ? 0 : object.number_or(key, fallback, range);
}

bool read_flag(const JsonObject& object, std::string_view key, bool fallback) {
  return !written_as_null(object, key) && object.boolean_or(key, fallback);
}

double read_epsilon(const JsonObject& object, std::string_view key, double fallback) {
  return read_number(object, key, fallback, kEpsilonRange);
}

Activation read_activation(const JsonObject& object, Keys keys, std::string_view fallback) {
  const std::string_view key = present_key(object, keys);
  require_no_null(object, key, "the name of an activation");
  const std::string name = object.string_or(key, fallback);
  std::vector<std::string> names;
  for (const NamedActivation& entry : kActivations) {
    if (name == entry.name) return entry.activation;
    names.emplace_back(entry.name);
  }
  not_supported(object, key, "the activation " + quote(name, 40), names);
}

int read_token_id(const JsonObject& object, std::string_view key, int fallback) {
  if (written_as_null(object, key)) return -1;
  const json* value = object.find(key);
  if (value != nullptr && value->is_array()) {
    const auto ids = object.integers_or_empty(key, kTokenIdRange);
    return ids.empty() ? -1 : static_cast<int>(ids.front());
  }
  return static_cast<int>(object.integer_or(key, fallback, kTokenIdRange));
}

std::vector<std::string> read_labels(const JsonObject& object) {
  if (!object.has("id2label")) {
    const int n = read_size(object, {"num_labels"}, 2, kLabelRange);
    std::vector<std::string> labels;
    for (int i = 0; i < n; ++i) labels.push_back("LABEL_" + std::to_string(i));
    return labels;
  }
  const JsonObject map = object.object("id2label");
  const std::size_t n = map.value().size();
  std::vector<std::string> labels(n);
  std::vector<bool> seen(n, false);
  for (const auto& [key, value] : map.value().items()) {
    const auto id = parse_integer(key);
    if (!id || *id < 0 || *id >= static_cast<std::int64_t>(n) ||
        seen[static_cast<std::size_t>(*id)]) {
      map.fail(key, "is not a label's id", "0 to " + std::to_string(n - 1), "");
    }
    seen[static_cast<std::size_t>(*id)] = true;
    labels[static_cast<std::size_t>(*id)] = map.string(key);
  }
  if (labels.empty()) object.fail("id2label", "is empty", "at least one label", "");
  return labels;
}

std::optional<DType> read_dtype(const JsonObject& object) {
  const std::string_view key = present_key(object, {"dtype", "torch_dtype"});
  if (!object.has(key)) return std::nullopt;
  const std::string name = object.string(key);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    if (name == dtype_name(dtype)) return dtype;
  }
  return std::nullopt;
}

void require_divides(const JsonObject& object, std::string_view divisor_key, int divisor,
                     std::string_view size_key, int size) {
  if (divisor > 0 && size % divisor == 0) return;
  object.fail(divisor_key, "does not divide " + std::string(size_key),
              "a divisor of " + std::to_string(size), std::to_string(divisor));
}

void require_value(const JsonObject& object, std::string_view key, std::string_view supported) {
  require_no_null(object, key, "a string");
  const std::string got = object.string_or(key, supported);
  if (got != supported) not_supported(object, key, quote(got, 60), {std::string(supported)});
}

void refuse_true(const JsonObject& object, std::string_view key) {
  if (read_flag(object, key, false)) not_supported(object, key, "true", {"false"});
}

}  // namespace attnscope
