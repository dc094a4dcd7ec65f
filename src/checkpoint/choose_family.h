// File: choose_family.h
// Which family reads a configuration, and which head the model has.
#pragma once

#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "families/family.h"

namespace attnscope {

struct FamilyChoice {
  const Family* family = nullptr;
  const Architecture* architecture = nullptr;  // null when the configuration names none
  std::string architecture_name;               // as the configuration writes it; may be empty
};

// By model_type and architectures. Errors CF01 to CF03: neither is there, or not supported.
FamilyChoice choose_family(const JsonObject& json);

// The family whose FILE.json this is, by its key "family". Error CF04.
const Family& family_of_file(const JsonObject& json);

// The named head if its tensors are there. A masked-LM head without tensors becomes hidden states,
// with a warning; without a named architecture the files decide.
Head choose_head(const FamilyChoice& choice, const TensorSource& source, const std::string& where,
                 Warnings& warnings);

}  // namespace attnscope
