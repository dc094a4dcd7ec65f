// File: prompt_source.h
// From the options of a verb to prompts and a tokenizer, for verbs that run no model.
#pragma once

#include <functional>
#include <string>

#include "attnscope/data/encoded_prompt.h"
#include "attnscope/spec/capture_spec.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope::cli {

// The tokenizer of a model in any form that -m takes; the weights are not looked at.
Tokenizer load_tokenizer(const std::string& model);

// Calls `take` for each prompt in order. A file is read as a stream; lines left out under
// --skip-bad are counted in a warning.
void for_each_prompt(const PromptSource& source, InvalidUtf8 invalid_utf8,
                     const std::function<void(const Prompt&)>& take);

EncodePromptOptions encode_options(const EncodingOptions& encoding, SpecialTokens specials);

}  // namespace attnscope::cli
