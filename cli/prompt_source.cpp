#include "prompt_source.h"

#include <filesystem>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/spec/prompts.h"
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

void for_each_prompt(const PromptSource& source, const EncodingOptions& encoding,
                     const std::function<void(const Prompt&)>& take) {
  if (source.prompts_file.empty()) {
    take(inline_prompt(source));
    return;
  }
  PromptReader reader(source.prompts_file, read_options(source, encoding));
  std::vector<SkippedLine> skipped;
  bool any = false;
  for (Prompt prompt; reader.next(prompt);) {
    try {
      take(prompt);
      any = true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input || !source.skip_bad) {
        rethrow_at(error, prompt_place(source, prompt.line));
      }
      skipped.push_back({prompt.line, error.detail().what});
    }
  }
  skipped.insert(skipped.end(), reader.skipped().begin(), reader.skipped().end());
  if (!any) fail_no_prompts(source.prompts_file, skipped);
  if (!skipped.empty()) console::print_warnings({describe_skipped(skipped)});
}

}  // namespace attnscope::cli
