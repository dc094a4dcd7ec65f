// File: custom_map.h
// The tensors of a custom model: a named preset, or one entry a role.
#pragma once

#include "attnscope/checkpoint/model_config.h"
#include "attnscope/checkpoint/tensor_map.h"
#include "attnscope/support/json.h"

namespace attnscope {

// Whether any layer has an MLP.
bool has_mlp(const ModelConfig& config);

// Reads "map" and "unused" of a custom model's FILE.json. Errors: a role or layout that does not
// exist, a role that the architecture needs and the map lacks.
TensorMap custom_map(const ModelConfig& config, const JsonObject& json);

}  // namespace attnscope
