#include "options_diff.h"

#include <algorithm>

#include "attnscope/support/utf8.h"

namespace attnscope::storage_detail {

std::string differing_key(const nlohmann::json& before, const nlohmann::json& now) {
  for (const auto* side : {&before, &now}) {
    for (const auto& [key, value] : side->items()) {
      const auto a = before.find(key);
      const auto b = now.find(key);
      if (a == before.end() || b == now.end()) return key;
      if (*a == *b) continue;
      if (!a->is_object() || !b->is_object()) return key;
      return key + "." + differing_key(*a, *b);
    }
  }
  return {};
}

std::string value_at(const nlohmann::json& options, const std::string& key) {
  const nlohmann::json* value = &options;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const std::string part = key.substr(begin, end - begin);
    if (!value->is_object() || !value->contains(part)) return "nothing";
    value = &value->at(part);
    begin = end + 1;
  }
  return escape_untrusted(value->dump());
}

}  // namespace attnscope::storage_detail
