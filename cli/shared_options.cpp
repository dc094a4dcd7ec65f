#include "shared_options.h"

namespace attnscope::cli {

namespace {
constexpr Bounds kThreads = {1, 1024};
}  // namespace

void add_model_option(Options& options, const std::string& why, std::string& model) {
  options.text({"-m,--model", "MODEL",
                "model folder, custom model's .json, or org/name in the " +
                    std::string("Hugging Face cache (") + why + ")"},
               model);
}

void add_prompt_options(Verb& verb, PromptSource& prompts) {
  Options& options = verb.options();
  options.group("Prompts (--prompt, --ids or --prompts is required)");
  // An empty prompt is a text like any other; the tokenizer decides whether it has tokens.
  options.text({"--prompt", "TEXT", "one prompt", EmptyValue::allowed}, prompts.prompt);
  options.text({"--prompt-pair", "TEXT", "second text of a sentence pair, with --prompt"},
               prompts.pair);
  options.value({"--ids", "LIST", "token ids instead of a text, as in 5,17,3"},
                [&prompts](const std::string& text, const std::string& option) {
                  prompts.ids = parse_id_list(text, option);
                });
  options.value({"--token-types", "LIST", "token types for --ids, as in 0,0,1 (default: all 0)"},
                [&prompts](const std::string& text, const std::string& option) {
                  prompts.token_types = parse_id_list(text, option);
                });
  options.text({"--prompts", "FILE", "many prompts: .txt, .jsonl, .csv or .tsv (see below)"},
               prompts.prompts_file);
  options.flag({"--skip-bad", "", "leave out bad lines of the file and count them"},
               prompts.skip_bad);
  verb.note(
      "Prompt files",
      ".txt         each line is a prompt\n"
      ".jsonl       each line is an object: \"text\" (or \"prompt\") and perhaps \"pair\", or\n"
      "             \"ids\" and perhaps \"token_types\"; any other key is a column of its own\n"
      ".csv, .tsv   the first line names the columns: text (or prompt), pair, ids,\n"
      "             token_types; any other column is kept too\n"
      "A prompt may have 16 MiB, a line 64 MiB, a file 1 GiB.");
}

void add_encoding_options(Options& options, EncodingOptions& encoding) {
  options.group("Text to tokens");
  options.choice({"--bos", "", "begin token: as the tokenizer says, always, never"}, encoding.bos);
  options.choice({"--chat", "", "write the prompt as one user turn of this chat format"},
                 encoding.chat);
  options.choice({"--invalid-utf8", "", "bytes that are no text: refuse, or replace by U+FFFD"},
                 encoding.invalid_utf8);
}

void add_device_option(Options& options, std::string& device) {
  options.text(
      {"--device", "auto|cpu|cuda[:N]", "where to compute; auto takes a GPU if there is one"},
      device);
}

void add_threads_option(Options& options, int& threads) {
  options.integer({"--threads", "N", "compute threads (default: one a core)"}, kThreads, threads);
}

void add_compute_options(Options& options, ComputeOptions& compute) {
  options.group("How to compute");
  add_device_option(options, compute.device);
  options.choice({"--dtype", "", "number type of the forward pass"}, compute.dtype);
  options.choice(
      {"--engine", "",
       "attention: reference (step by step), aten (fused by LibTorch), cpu_tiled and on a GPU cuda "
       "(fused, with statistics and maps); auto takes the fastest that does what is asked"},
      compute.engine);
  add_threads_option(options, compute.threads);
  options.integer({"--seed", "N", "seed of whatever is random"},
                  {0, std::numeric_limits<std::int64_t>::max()}, compute.seed);
  options.value({"--budget", "BYTES",
                 "refuse to use more memory or disk, as in 500M or 4GiB (default: no limit)"},
                [&compute](const std::string& text, const std::string& option) {
                  compute.budget = parse_bytes(text, option);
                });
}

void add_rule_options(Options& options, bool& strict, bool& fail_on_nan) {
  options.flag({"--strict", "", "warnings about the model are errors"}, strict);
  options.flag({"--fail-on-nan", "", "a NaN in a result is an error"}, fail_on_nan);
}

void add_positions_note(Verb& verb, const std::string& file) {
  verb.note("Positions",
            "3,5-7        tokens, counted from 0; the begin token counts\n"
            "-1, last     from the end\n"
            "'\"Mary\"'     every occurrence of the word, all its tokens; '\"Mary#2\"' the second\n"
            "subject      without quotes: the column of this name in the " +
                file +
                " file, which holds\n"
                "             words of the prompt, or [begin, end] in characters from 0");
}

void add_long_run_options(Options& options, DeliveryOptions& output) {
  add_force_option(options, output.force);
  options.flag({"--resume", "", "go on with an interrupted run of the same options"},
               output.resume);
  options.flag({"--dry-run", "", "print the plan and its estimates, then stop"}, output.dry_run);
  add_json_option(options, output.json);
  options.flag({"--quiet", "", "no progress, no warnings and no summary"}, output.quiet);
}

void add_shard_option(Options& options, const std::string& what, ShardChoice& shard) {
  options.value(
      {"--shard", "I/N", "do part I of N of the " + what + " (default: all)"},
      [&shard](const std::string& text, const std::string&) { shard = parse_shard(text); });
}

void add_result_option(Options& options, const std::string& help, std::string& out) {
  options.text({"-o,--out", "FILE.h5", help}, out);
}

void add_force_option(Options& options, bool& force) {
  options.flag({"--force", "", "replace a file that exists (default: refuse)"}, force);
}

void add_json_option(Options& options, bool& json) {
  options.flag({"--json", "", "print the result as JSON"}, json);
}

}  // namespace attnscope::cli
