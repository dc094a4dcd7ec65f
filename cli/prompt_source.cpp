#include "prompt_source.h"

#include <filesystem>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/data/prompt_reader.h"
#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "console/output.h"

namespace attnscope::cli {
namespace {

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace

Tokenizer load_tokenizer(const std::string& model) {
  // A folder with a tokenizer needs no model beside it.
  const std::string tokenizer_json = model + "/tokenizer.json";
  if (is_file(tokenizer_json)) {
    const std::string config = model + "/tokenizer_config.json";
    return Tokenizer::load(tokenizer_json, is_file(config) ? config : "");
  }
  Warnings warnings;
  const Checkpoint checkpoint = open_checkpoint(model, {}, warnings);
  if (checkpoint.tokenizer_json.empty()) {
    throw Error(ErrorKind::input, "TZ01",
                {.where = escape_untrusted(model),
                 .what = "the model has no tokenizer.json",
                 .next = "put the file into the folder, or give --ids to capture"});
  }
  return Tokenizer::load(checkpoint.tokenizer_json, checkpoint.tokenizer_config);
}

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
