// File: answer_encoder.h
// Answers as tokens: what the tokenizer makes of an answer where it stands, after the prompt or in
// the place of its mask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/data/encoded_prompt.h"

namespace attnscope {

struct EncodedAnswer {
  std::vector<std::int64_t> ids;  // never empty
  // The token that the answer would be with a space before it, where it seems to lack one.
  std::optional<std::int64_t> with_space;
};

class AnswerEncoder {
 public:
  // `prompt` was made of text with `options`; all must outlive this. `mask` is the position of the
  // mask token, −1 = none.
  AnswerEncoder(const EncodedPrompt& prompt, int mask, const Tokenizer& tokenizer,
                const EncodePromptOptions& options)
      : prompt_(prompt), mask_(mask), tokenizer_(tokenizer), options_(options) {}

  // Throws Error PA05 (exit 2) without a place: the answer changes the tokens of the prompt, or is
  // no token.
  EncodedAnswer encode(const std::string& answer) const;

 private:
  // The tokens that `answer` adds; nothing if the prompt's own tokens do not stay as they are.
  std::optional<std::vector<std::int64_t>> added_ids(const std::string& answer) const;
  std::optional<std::vector<std::int64_t>> continuation(const std::string& answer) const;
  std::optional<std::vector<std::int64_t>> filling(const std::string& answer) const;
  std::optional<std::int64_t> with_space(const std::string& answer) const;
  [[noreturn]] void fail_seam(const std::string& answer) const;
  [[noreturn]] void fail_no_token(const std::string& answer) const;

  const EncodedPrompt& prompt_;
  int mask_;
  const Tokenizer& tokenizer_;
  const EncodePromptOptions& options_;
};

}  // namespace attnscope
