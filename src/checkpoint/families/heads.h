// File: heads.h
// The part of a configuration that follows from the head.
#pragma once

#include "family.h"

namespace attnscope {

// Sets head, classifier, labels and d_vocab_out.
void apply_head(ModelConfig& config, const FamilyInput& input);

}  // namespace attnscope
