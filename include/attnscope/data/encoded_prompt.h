// File: encoded_prompt.h
// A prompt as tokens, with what a reader of a result needs to know about each token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/data/prompt.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {

// T tokens; every vector but `columns` has T entries.
struct EncodedPrompt {
  std::string text;  // what was encoded; for ids: what they decode to
  std::optional<std::string> pair;
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> token_types;
  std::vector<std::string> pieces;       // as in the vocabulary; "#17" without a tokenizer
  std::vector<std::string> token_texts;  // the text each token stands for; the piece if special
  std::vector<std::string> token_bytes;  // the same, exactly: a token may hold part of a character
  std::vector<CharSpan> offsets;  // code points of `text`, of `pair` for tokens of the second text
  std::vector<std::uint8_t> special;    // 1: added by the template; also 1 throughout for ids
  std::vector<std::uint8_t> in_second;  // 1: belongs to the second text
  std::vector<Column> columns;
  std::int64_t line = 0;
  std::size_t user_begin = 0;  // code points of `text` that a chat format put before the user's

  std::size_t size() const { return ids.size(); }
};

struct EncodePromptOptions {
  EncodeOptions encode;
  std::optional<ChatStyle> chat;  // format the text as one user turn first
};

// `tokenizer` may be null when the prompt holds ids. Throws Error PR04 (exit 2): text without a
// tokenizer, or a prompt that has no tokens at all; PR05: a chat format around ids or a pair.
EncodedPrompt encode_prompt(const Prompt& prompt, const Tokenizer* tokenizer,
                            const EncodePromptOptions& options);

// Tokens that hold any of the code points of `span`, in order; tokens added by a template never do.
// An empty span selects nothing.
std::vector<int> tokens_of_span(std::span<const CharSpan> offsets, CharSpan span);

}  // namespace attnscope
