// File: prompt_set.h
// The prompts that a spec names, as tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/capture/provenance.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/data/encoded_prompt.h"
#include "attnscope/data/prompt_reader.h"
#include "attnscope/spec/capture_spec.h"

namespace attnscope {

struct PromptSet {
  std::vector<EncodedPrompt> prompts;  // of every part (--shard)
  std::vector<SkippedLine> skipped;
  std::string file_sha256;  // of the prompt file; empty without one
  std::vector<std::string> warnings;
};

// Reads, encodes and checks. Under skip_bad a prompt that cannot be encoded or is too long is
// passed over and counted.
PromptSet load_prompts(const CaptureSpec& spec, const Checkpoint& checkpoint);

// What --beyond-context says.
LongPrompts long_prompts(const CaptureSpec& spec);

}  // namespace attnscope
