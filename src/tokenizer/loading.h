// Helpers for reading the parts of a tokenizer.json.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "attnscope/support/json.h"

namespace attnscope::tok {

// Throws TK04: silently wrong tokens are worse than none.
[[noreturn]] void refuse_type(const JsonObject& object, std::string_view part,
                              const std::string& type, std::string_view supported);

// Calls `each` for every element of the array under `key`, which must hold objects.
void for_each_object(const JsonObject& object, std::string_view key,
                     const std::function<void(const JsonObject&)>& each);

// One code point under `key`.
char32_t code_point(const JsonObject& object, std::string_view key, std::string_view fallback);

}  // namespace attnscope::tok
