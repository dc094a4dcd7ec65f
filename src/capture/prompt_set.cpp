#include "prompt_set.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {
namespace {

EncodePromptOptions encode_options(const EncodingOptions& o) {
  EncodePromptOptions out;
  out.encode.bos = o.bos;
  out.encode.invalid_utf8 = o.invalid_utf8;
  switch (o.chat) {
    case ChatChoice::none:
      break;
    case ChatChoice::chatml:
      out.chat = ChatStyle::chatml;
      break;
    case ChatChoice::llama3:
      out.chat = ChatStyle::llama3;
      break;
    case ChatChoice::gemma:
      out.chat = ChatStyle::gemma;
      break;
  }
  return out;
}

Prompt inline_prompt(const PromptSource& source) {
  Prompt prompt;
  prompt.text = source.prompt.value_or("");
  prompt.pair = source.pair;
  prompt.ids = source.ids;
  prompt.token_types = source.token_types;
  return prompt;
}

std::vector<Prompt> read_prompts(const CaptureSpec& spec, PromptSet& set) {
  if (spec.prompts.prompts_file.empty()) return {inline_prompt(spec.prompts)};
  PromptReadOptions options;
  options.invalid_utf8 = spec.encoding.invalid_utf8;
  options.bad_lines = spec.prompts.skip_bad ? BadLines::skip : BadLines::stop;
  PromptFile file = read_prompt_file(spec.prompts.prompts_file, options);
  set.skipped = std::move(file.skipped);
  set.file_sha256 = std::move(file.sha256);
  return std::move(file.prompts);
}

// Part i of N: consecutive prompts, parts of nearly equal size.
std::pair<std::size_t, std::size_t> part_of(std::size_t count, ShardChoice shard) {
  const auto cut = [&](int i) {
    return count * static_cast<std::size_t>(i) / static_cast<std::size_t>(shard.count);
  };
  return {cut(shard.index - 1), cut(shard.index)};
}

std::optional<Tokenizer> load_tokenizer(const Checkpoint& checkpoint) {
  if (checkpoint.tokenizer_json.empty()) return std::nullopt;
  return Tokenizer::load(checkpoint.tokenizer_json, checkpoint.tokenizer_config);
}

[[noreturn]] void rethrow_at(const Error& error, const std::string& where) {
  ErrorDetail detail = error.detail();
  detail.where = where;
  throw Error(error.kind(), error.code(), std::move(detail));
}

}  // namespace

std::string prompt_place(const CaptureSpec& spec, std::int64_t line) {
  if (line == 0) return spec.prompts.ids ? "--ids" : "--prompt";
  return escape_untrusted(spec.prompts.prompts_file, 4096) + ":" + std::to_string(line);
}

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
       "at most " + std::to_string(config.n_context) + " tokens", std::to_string(length),
       extendable ? "shorten it, or allow it with --beyond-context"
                  : "shorten it: this model has learned positions and no more of them");
}

PromptSet load_prompts(const CaptureSpec& spec, const Checkpoint& checkpoint) {
  PromptSet set;
  std::vector<Prompt> prompts = read_prompts(spec, set);
  set.all_prompts = static_cast<std::int64_t>(prompts.size());
  const auto [begin, end] = part_of(prompts.size(), spec.shard);
  if (begin == end) {
    throw Error(ErrorKind::input, "CA11",
                {.where = "--shard",
                 .what = "this part has no prompts",
                 .expected = "at most " + std::to_string(prompts.size()) + " parts",
                 .got = std::to_string(spec.shard.count)});
  }
  const std::optional<Tokenizer> tokenizer = load_tokenizer(checkpoint);
  if (tokenizer && tokenizer->id_limit() > checkpoint.config.d_vocab) {
    set.warnings.push_back("the tokenizer has ids up to " +
                           std::to_string(tokenizer->id_limit() - 1) + ", the model only " +
                           std::to_string(checkpoint.config.d_vocab) + " embeddings");
  }
  const EncodePromptOptions options = encode_options(spec.encoding);
  for (std::size_t p = begin; p < end; ++p) {
    const std::string where = prompt_place(spec, prompts[p].line);
    try {
      EncodedPrompt encoded = encode_prompt(prompts[p], tokenizer ? &*tokenizer : nullptr, options);
      check_prompt(checkpoint.config, spec, encoded, where);
      set.prompts.push_back(std::move(encoded));
    } catch (const Error& error) {
      if (!spec.prompts.skip_bad || error.kind() != ErrorKind::input) rethrow_at(error, where);
      set.skipped.push_back({prompts[p].line, error.detail().what});
    }
  }
  if (set.prompts.empty()) {
    throw Error(ErrorKind::input, "CA11",
                {.where = escape_untrusted(spec.prompts.prompts_file, 4096),
                 .what = "no prompt is left: " + std::to_string(set.skipped.size()) +
                         " lines were passed over",
                 .got = set.skipped.front().reason + " (line " +
                        std::to_string(set.skipped.front().line) + ")"});
  }
  return set;
}

}  // namespace attnscope
