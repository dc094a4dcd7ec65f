// File: prompts.h
// From the options about prompts to what is read and encoded; for every verb that takes prompts.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/data/encoded_prompt.h"
#include "attnscope/data/prompt_reader.h"
#include "attnscope/spec/capture_spec.h"

namespace attnscope {

// The prompt of --prompt or --ids.
Prompt inline_prompt(const PromptSource& source);

PromptReadOptions read_options(const PromptSource& source, const EncodingOptions& encoding);

// `tokenizer` may be null. Throws Error TK54 (exit 2) if it lacks the tokens of --chat.
EncodePromptOptions encode_options(const EncodingOptions& encoding, const Tokenizer* tokenizer);

// "--prompt", "--ids" or "FILE:12", for messages; line 0 is no line of a file.
std::string prompt_place(const PromptSource& source, std::int64_t line);

}  // namespace attnscope
