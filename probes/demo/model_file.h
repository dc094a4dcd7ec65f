// Writes a model that was built in code as a custom model's FILE.json and its safetensors.
#pragma once

#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/support/file.h"

namespace attnscope::demo {

// Writes `stem`.json and `stem`.safetensors into `folder`; the tensors keep their types. Only what
// the custom family can say: no norm, no MLP, learned positions.
void write_custom_model(const Checkpoint& checkpoint, const std::string& folder,
                        const std::string& stem, WriteMode mode);

}  // namespace attnscope::demo
