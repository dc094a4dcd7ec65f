#include "prompt_source.h"

#include "attnscope/data/prompt_reader.h"
#include "console/output.h"

namespace attnscope::cli {

void for_each_prompt(const PromptSource& source, InvalidUtf8 invalid_utf8,
                     const std::function<void(const Prompt&)>& take) {
  Prompt prompt;
  if (source.prompts_file.empty()) {
    prompt.text = source.prompt.value_or("");
    prompt.pair = source.pair;
    prompt.ids = source.ids;
    prompt.token_types = source.token_types;
    take(prompt);
    return;
  }
  PromptReader reader(source.prompts_file,
                      {.invalid_utf8 = invalid_utf8,
                       .bad_lines = source.skip_bad ? BadLines::skip : BadLines::stop});
  while (reader.next(prompt)) take(prompt);
  if (!reader.skipped().empty()) {
    console::print_warnings(
        {std::to_string(reader.skipped().size()) + " bad lines were left out; the first is line " +
         std::to_string(reader.skipped().front().line) + ": " + reader.skipped().front().reason});
  }
}

EncodePromptOptions encode_options(const EncodingOptions& encoding, SpecialTokens specials) {
  EncodePromptOptions options;
  options.encode = {
      .specials = specials, .bos = encoding.bos, .invalid_utf8 = encoding.invalid_utf8};
  switch (encoding.chat) {
    case ChatChoice::chatml:
      options.chat = ChatStyle::chatml;
      break;
    case ChatChoice::llama3:
      options.chat = ChatStyle::llama3;
      break;
    case ChatChoice::gemma:
      options.chat = ChatStyle::gemma;
      break;
    case ChatChoice::none:
      break;
  }
  return options;
}

}  // namespace attnscope::cli
