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

void check_prompt(const ModelConfig& config, const CaptureSpec& spec, const EncodedPrompt& prompt,
                  const std::string& where) {
  const auto fail = [&](std::string what, std::string expected, std::string got,
                        std::string next = "") {
    throw Error(ErrorKind::input, "CA10",
                {.where = where,
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = std::move(got),
                 .next = std::move(next)});
  };
  for (std::size_t i = 0; i < prompt.ids.size(); ++i) {
    const std::int64_t id = prompt.ids[i];
    if (id < 0 || id >= config.d_vocab) {
      fail("token " + std::to_string(i) + " is outside the vocabulary of the model",
           "ids from 0 to " + std::to_string(config.d_vocab - 1), std::to_string(id));
    }
    const std::int64_t type = prompt.token_types[i];
    if (type != 0 && config.token_types <= 1) {
      fail("the model does not tell the two texts of a pair apart: it has no token types",
           "one text, or token types of 0", "token type " + std::to_string(type));
    }
    if (type != 0 && (type < 0 || type >= config.token_types)) {
      fail("token type of token " + std::to_string(i) + " does not exist in the model",
           "0 to " + std::to_string(std::max(0, config.token_types - 1)), std::to_string(type));
    }
  }
  const auto length = static_cast<std::int64_t>(prompt.ids.size());
  if (length <= config.n_context) return;
  const bool extendable = config.position != PositionKind::learned;
  if (extendable && spec.beyond_context) return;
  fail("the prompt is longer than the context of the model",
       "at most " + count_of(static_cast<std::uint64_t>(config.n_context), "token"),
       std::to_string(length),
       extendable ? "shorten it, or allow it with --beyond-context"
                  : "shorten it: this model has learned positions and no more of them");
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
      check_prompt(checkpoint.config, spec, encoded, where);
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
