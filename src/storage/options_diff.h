// File: options_diff.h
// Where the resolved options of two runs differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace attnscope::storage_detail {

// The first key of two objects whose values differ, "a.b"; "" if none does.
std::string differing_key(const nlohmann::json& before, const nlohmann::json& now);

// The value of such a key, as it can be shown; "nothing" where the object has none.
std::string value_at(const nlohmann::json& options, const std::string& key);

}  // namespace attnscope::storage_detail
