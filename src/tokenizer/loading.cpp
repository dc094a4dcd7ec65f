#include "loading.h"

#include <nlohmann/json.hpp>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"

namespace attnscope::tok {

void refuse_type(const JsonObject& object, std::string_view part, const std::string& type,
                 std::string_view supported) {
  throw Error(ErrorKind::input, "TK04",
              {.where = object.where(),
               .what = std::string(part) + " type " + quote(type) + " is not supported",
               .expected = "one of " + std::string(supported),
               .next = "use a tokenizer made of these parts"});
}

void for_each_object(const JsonObject& object, std::string_view key,
                     const std::function<void(const JsonObject&)>& each) {
  const nlohmann::json& list = object.require(key);
  if (!list.is_array()) object.fail(key, "value", "an array", json_type_name(list));
  for (std::size_t i = 0; i < list.size(); ++i) {
    each(JsonObject(list[i], object.where(), "TK03",
                    object.path_of(key) + "[" + std::to_string(i) + "]"));
  }
}

char32_t code_point(const JsonObject& object, std::string_view key, std::string_view fallback) {
  const std::string text = object.string_or(key, fallback);
  std::size_t pos = 0;
  if (text.empty()) object.fail(key, "value", "one character", "\"\"");
  const char32_t c = next_code_point(text, pos);
  if (pos != text.size()) object.fail(key, "value", "one character", quote(text));
  return c;
}

}  // namespace attnscope::tok
