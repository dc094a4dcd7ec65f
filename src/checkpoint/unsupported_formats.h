// File: unsupported_formats.h
// Weights that are not read, each refused by name with a command that converts them.
#pragma once

#include <string>

#include "attnscope/support/json.h"

namespace attnscope {

// Throws CK10 (pickle), CK11 (GGUF) or CK02 when `path` is a single file of weights.
void refuse_weight_file(const std::string& path);

// Throws CK12 when the folder holds a LoRA adapter.
void refuse_adapter(const std::string& folder);

// Throws CK13 when the configuration says that the weights are quantised.
void refuse_quantised(const JsonObject& config, const std::string& folder);

// For a folder without safetensors: throws CK10, CK11 or CK14 by what it holds instead.
[[noreturn]] void refuse_folder_without_safetensors(const std::string& folder);

}  // namespace attnscope
