// File: prompt_source.h
// From the options of a verb to prompts and a tokenizer, for verbs that run no model.
#pragma once

#include <functional>
#include <string>

#include "attnscope/data/prompt.h"
#include "attnscope/spec/capture_spec.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope::cli {

// The tokenizer of a model in any form that -m takes; the weights are not looked at.
Tokenizer load_tokenizer(const std::string& model);

// Calls `take` for each prompt in order. A file is read as a stream; an error in a line names it.
// Lines left out under --skip-bad, unreadable or refused by `take`, are counted in a warning.
void for_each_prompt(const PromptSource& source, const EncodingOptions& encoding,
                     const std::function<void(const Prompt&)>& take);

}  // namespace attnscope::cli
