#include "attnscope/spec/prompts.h"

#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

std::optional<ChatStyle> chat_style(ChatChoice choice) {
  switch (choice) {
    case ChatChoice::chatml:
      return ChatStyle::chatml;
    case ChatChoice::llama3:
      return ChatStyle::llama3;
    case ChatChoice::gemma:
      return ChatStyle::gemma;
    case ChatChoice::none:
      break;
  }
  return std::nullopt;
}

}  // namespace

Prompt inline_prompt(const PromptSource& source) {
  Prompt prompt;
  prompt.text = source.prompt.value_or("");
  prompt.pair = source.pair;
  prompt.ids = source.ids;
  prompt.token_types = source.token_types;
  return prompt;
}

PromptReadOptions read_options(const PromptSource& source, const EncodingOptions& encoding) {
  PromptReadOptions options;
  options.invalid_utf8 = encoding.invalid_utf8;
  options.bad_lines = source.skip_bad ? BadLines::skip : BadLines::stop;
  return options;
}

EncodePromptOptions encode_options(const EncodingOptions& encoding, const Tokenizer* tokenizer) {
  EncodePromptOptions options;
  options.encode.bos = encoding.bos;
  options.encode.invalid_utf8 = encoding.invalid_utf8;
  options.chat = chat_style(encoding.chat);
  if (options.chat && tokenizer != nullptr) check_chat_tokens(*tokenizer, *options.chat);
  return options;
}

std::string prompt_place(const PromptSource& source, std::int64_t line) {
  if (line == 0) return source.ids ? "--ids" : "--prompt";
  return escape_untrusted(source.prompts_file, 4096) + ":" + std::to_string(line);
}

}  // namespace attnscope
