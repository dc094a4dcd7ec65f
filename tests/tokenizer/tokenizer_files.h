// Where the tests find tokenizers and expected results.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope::testing {

std::string read_file(const std::string& path);
nlohmann::json read_json(const std::string& path);

// A tokenizer from a JSON document in memory; `config` may be empty.
Tokenizer tokenizer_from(const nlohmann::json& file, const std::string& config = "");

// The tokenizer.json that make_tokenizer_json.py makes of `inputs`, which are files under the
// folder tokenizers/ of the larger test material. Nothing without that material.
std::optional<std::string> converted(const std::string& kind,
                                     const std::vector<std::string>& inputs);

// A folder of a real model in the folder that ATTNSCOPE_MODELS names, if the variable is set.
std::optional<std::string> real_model(const std::string& name);

// Offsets as the fixtures write them: [[begin, end], …].
nlohmann::json offsets_of(const Encoding& encoding);

// The first 16 hex digits of a SHA-256.
std::string short_hash(std::string_view text);

inline constexpr const char* kNoMaterial =
    "ATTNSCOPE_MATERIAL is not set; it names the folder of the larger test material";

}  // namespace attnscope::testing
