// File: match_tensors.h
// Finds every tensor of a family's map in the files, and accounts for every tensor of the files.
#pragma once

#include <string>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

struct MatchInput {
  const TensorMap& wanted;         // by the family's full names
  const std::string& base_prefix;  // that files of a base model lack
  const TensorSource& source;
  const std::string& where;  // for messages
  Strictness strictness = Strictness::lenient;
};

// The map with the names of the files. Throws TM01 (missing), TM02 (shape), TM03 (not a floating
// point type), TM04 (unexpected, under strict; a warning otherwise).
TensorMap match_tensors(const MatchInput& input, Warnings& warnings);

// Whether the files hold a tensor under its full name or without the base prefix.
bool holds_tensor(const TensorSource& source, const std::string& base_prefix,
                  const std::string& name);

}  // namespace attnscope
