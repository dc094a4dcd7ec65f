#include "prompt_set.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/spec/prompts.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {
namespace {

std::vector<Prompt> read_prompts(const CaptureSpec& spec, PromptSet& set) {
  if (spec.prompts.prompts_file.empty()) return {inline_prompt(spec.prompts)};
  PromptFile file =
      read_prompt_file(spec.prompts.prompts_file, read_options(spec.prompts, spec.encoding));
  set.skipped = std::move(file.skipped);
  set.file_sha256 = std::move(file.sha256);
  return std::move(file.prompts);
}

std::optional<Tokenizer> load_tokenizer(const Checkpoint& checkpoint) {
  if (checkpoint.tokenizer_json.empty()) return std::nullopt;
  return Tokenizer::load(checkpoint.tokenizer_json, checkpoint.tokenizer_config);
}

}  // namespace

LongPrompts long_prompts(const CaptureSpec& spec) {
  return spec.beyond_context ? LongPrompts::allowed : LongPrompts::refused_unless_asked;
}

PromptSet load_prompts(const CaptureSpec& spec, const Checkpoint& checkpoint) {
  PromptSet set;
  std::vector<Prompt> prompts = read_prompts(spec, set);
  const std::optional<Tokenizer> tokenizer = load_tokenizer(checkpoint);
  if (tokenizer && tokenizer->id_limit() > checkpoint.config.d_vocab) {
    set.warnings.push_back("the tokenizer has ids up to " +
                           std::to_string(tokenizer->id_limit() - 1) + ", the model only " +
                           count_of(checkpoint.config.d_vocab, "embedding"));
  }
  const Tokenizer* known = tokenizer ? &*tokenizer : nullptr;
  const EncodePromptOptions options = encode_options(spec.encoding, known);
  for (const Prompt& prompt : prompts) {
    const std::string where = prompt_place(spec.prompts, prompt.line);
    try {
      EncodedPrompt encoded = encode_prompt(prompt, known, options);
      check_prompt(checkpoint.config, encoded, long_prompts(spec), where);
      set.prompts.push_back(std::move(encoded));
    } catch (const Error& error) {
      if (!spec.prompts.skip_bad || error.kind() != ErrorKind::input) rethrow_at(error, where);
      set.skipped.push_back({prompt.line, error.detail().what});
    }
  }
  if (set.prompts.empty()) fail_no_prompts(spec.prompts.prompts_file, set.skipped);
  return set;
}

}  // namespace attnscope
