// File: run_choices.h
// What every verb that runs a model makes of its options and prompts.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/core/batch.h"
#include "attnscope/data/encoded_prompt.h"
#include "attnscope/model/model.h"
#include "attnscope/spec/capture_spec.h"
#include "attnscope/storage/output.h"

namespace attnscope {

DType load_dtype(ComputeDType dtype);
Engine engine_of(EngineChoice choice);
IfExists if_exists(const DeliveryOptions& delivery);
inline Strictness strictness_of(bool strict) {
  return strict ? Strictness::strict : Strictness::lenient;
}

// A prompt as a model takes it: token types where the model has them.
TokenRow token_row(const EncodedPrompt& prompt, const ModelConfig& config);

// 0 where there is no such file.
std::uint64_t file_size(const std::string& path);

}  // namespace attnscope
