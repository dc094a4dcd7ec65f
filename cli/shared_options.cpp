#include "shared_options.h"

namespace attnscope::cli {

namespace {
constexpr Bounds kThreads = {1, 1024};
}  // namespace

void add_model_option(Options& options, std::string& model) {
  options.text(
      {"-m,--model", "MODEL", "model folder, custom model's .json, or org/name in the cache"},
      model);
}

void add_prompt_options(Options& options, PromptSource& prompts) {
  options.group("Prompts (one of them)");
  options.text({"--prompt", "TEXT", "one prompt"}, prompts.prompt);
  options.text({"--prompt-pair", "TEXT", "second text of a sentence pair, with --prompt"},
               prompts.pair);
  options.value({"--ids", "5,17,3", "token ids instead of a text"},
                [&prompts](const std::string& text, const std::string& option) {
                  prompts.ids = parse_id_list(text, option);
                });
  options.value({"--token-types", "0,0,1", "token types, with --ids"},
                [&prompts](const std::string& text, const std::string& option) {
                  prompts.token_types = parse_id_list(text, option);
                });
  options.text({"--prompts", "FILE", "many prompts: .txt, .jsonl, .csv or .tsv"},
               prompts.prompts_file);
  options.flag({"--skip-bad", "", "leave out bad lines of the file and count them"},
               prompts.skip_bad);
}

void add_encoding_options(Options& options, EncodingOptions& encoding) {
  options.group("Text to tokens");
  options.choice({"--bos", "", "begin token: as the tokenizer says, always, never"}, encoding.bos);
  options.choice({"--chat", "", "write the prompt as one user turn"}, encoding.chat);
  options.choice({"--invalid-utf8", "", "what to do with bytes that are no text"},
                 encoding.invalid_utf8);
}

void add_device_option(Options& options, std::string& device) {
  options.text({"--device", "auto|cpu|cuda[:N]", "where to compute"}, device);
}

void add_threads_option(Options& options, int& threads) {
  options.integer({"--threads", "N", "compute threads (default: one a core)"}, kThreads, threads);
}

void add_out_option(Options& options, const std::string& help, std::string& out) {
  options.text({"-o,--out", "FILE", help}, out);
}

void add_force_option(Options& options, bool& force) {
  options.flag({"--force", "", "replace a file that exists"}, force);
}

void add_json_option(Options& options, bool& json) {
  options.flag({"--json", "", "print the result as JSON"}, json);
}

}  // namespace attnscope::cli
