// File: config_keys.h
// Reading of the keys of config.json that families share, each with its range. An absent key takes
// the family's default. A key that is written as null does not: a size, a number and an activation
// must then have a value, as in the original library, a flag is false, and where null has a meaning
// of its own the helper says so.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/support/json.h"

namespace attnscope {

// Checked before anything is allocated.
inline constexpr IntegerRange kLayerRange{1, 1000};
inline constexpr IntegerRange kHeadRange{1, 4096};
inline constexpr IntegerRange kWidthRange{1, 1 << 20};
inline constexpr IntegerRange kVocabRange{1, 1 << 24};
inline constexpr IntegerRange kContextRange{1, 1 << 27};
inline constexpr IntegerRange kLabelRange{1, 1 << 17};
inline constexpr NumberRange kEpsilonRange{1e-30, 1};

using Keys = std::initializer_list<std::string_view>;

// The first of `keys` that has a value, else the first that is written, else the first.
std::string_view present_key(const JsonObject& json, Keys keys);

// An integer size under any of its names.
int read_size(const JsonObject& json, Keys keys, int fallback, IntegerRange range);

// As read_size, but a key that is written as null gives `if_null`.
int read_size_or_null(const JsonObject& json, std::string_view key, int fallback, int if_null,
                      IntegerRange range);

double read_number(const JsonObject& json, std::string_view key, double fallback,
                   NumberRange range);

// A number where null means "none" (0) and absent means `fallback`.
double read_number_or_none(const JsonObject& json, std::string_view key, double fallback,
                           NumberRange range);

bool read_flag(const JsonObject& json, std::string_view key, bool fallback);

double read_epsilon(const JsonObject& json, std::string_view key, double fallback);

// gelu, gelu_new, relu, silu …; others are refused with the list.
Activation read_activation(const JsonObject& json, Keys keys, std::string_view fallback);

// A token id; a list gives its first; absent gives `fallback`, null or a negative id −1.
int read_token_id(const JsonObject& json, std::string_view key, int fallback);

// Labels of a classifier by id, from id2label or num_labels; two by default.
std::vector<std::string> read_labels(const JsonObject& json);

// dtype or torch_dtype, where it names a type that is known.
std::optional<DType> read_dtype(const JsonObject& json);

// Throws unless `divisor` divides `size`.
void require_divides(const JsonObject& json, std::string_view divisor_key, int divisor,
                     std::string_view size_key, int size);

// Throws "not supported" when the key is present and holds another value than `supported`.
void require_value(const JsonObject& json, std::string_view key, std::string_view supported);
void refuse_true(const JsonObject& json, std::string_view key);

[[noreturn]] void not_supported(const JsonObject& json, std::string_view key,
                                const std::string& got, const std::vector<std::string>& supported);

}  // namespace attnscope
