// attnscope capture: options → CaptureSpec → attnscope-run.
#include "attnscope/storage/output.h"
#include "attnscope/support/file.h"
#include "command.h"
#include "launch.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

constexpr std::int64_t kMaxBatch = 65536;
constexpr std::int64_t kMaxTopK = 1024;

void add_what_options(Verb& verb, CaptureSpec& spec) {
  Options& options = verb.options();
  options.group("What to record");
  options.text(
      {"--hooks", "LIST",
       "sites by name or glob, as in pattern,z,blocks.*.hook_resid_post (default: pattern; "
       "none in the packed layout)"},
      spec.hooks);
  options.text({"--layers", "LIST", "layers, as in 0-3,7 (default: all)"}, spec.layers);
  options.text({"--heads", "LIST", "heads, as in 5.1,6.* (default: all)"}, spec.heads);
  options.text({"--positions", "LIST", "query positions, see below (default: all)"},
               spec.positions);
  options.flag({"--stats-only", "", "head statistics only, no maps and no activations"},
               spec.stats_only);
  options.choice({"--map-dtype", "",
                  "how maps are stored: float32 rounded to 10 mantissa bits, half, float32"},
                 spec.map_format);
  options.integer({"--topk", "N", "strongest keys kept for each query"}, {1, kMaxTopK}, spec.top_k);
  options.choice({"--layout", "",
                  "one group a prompt, or all prompts packed in common datasets (default: auto, "
                  "packed above 64 prompts)"},
                 spec.layout);
  verb.note("Positions",
            "3,5-7        tokens, counted from 0; the begin token counts\n"
            "-1, last     from the end\n"
            "'\"Mary\"'     every occurrence of the word, all its tokens; '\"Mary#2\"' the second\n"
            "subject      without quotes: the column of this name in the prompt file, which holds\n"
            "             words of the prompt, or [begin, end] in characters from 0");
}

void add_compute_options(Options& options, ComputeOptions& compute) {
  options.group("How to compute");
  add_device_option(options, compute.device);
  options.choice({"--dtype", "", "number type of the forward pass"}, compute.dtype);
  options.choice({"--engine", "",
                  "attention: step by step, or fused by LibTorch where no map is asked for "
                  "(default: auto, fused where it can be)"},
                 compute.engine);
  add_threads_option(options, compute.threads);
  options.integer({"--seed", "N", "seed of whatever is random"},
                  {0, std::numeric_limits<std::int64_t>::max()}, compute.seed);
  options.integer(
      {"--batch", "N", "most prompts in a batch (default: as many as make 2048 tokens)"},
      {1, kMaxBatch}, compute.batch);
  options.value({"--budget", "BYTES",
                 "refuse to use more memory or disk, as in 500M or 4GiB (default: no limit)"},
                [&compute](const std::string& text, const std::string& option) {
                  compute.budget = parse_bytes(text, option);
                });
}

void add_output_options(Options& options, CaptureSpec& spec) {
  options.group("Output");
  add_result_option(options,
                    "file to write (required); FILE.json beside it gets its hash, the time and the "
                    "command line",
                    spec.output.out);
  add_force_option(options, spec.output.force);
  options.flag({"--resume", "", "go on with an interrupted run of the same options"},
               spec.output.resume);
  options.value(
      {"--shard", "I/N", "do part I of N of the prompts (default: all)"},
      [&spec](const std::string& text, const std::string&) { spec.shard = parse_shard(text); });
  options.flag({"--dry-run", "", "print the plan and its estimates, then stop"},
               spec.output.dry_run);
  add_json_option(options, spec.output.json);
  options.flag({"--quiet", "", "no progress, no warnings and no summary"}, spec.output.quiet);
}

void add_rule_options(Options& options, CaptureSpec& spec) {
  options.group("Strictness");
  options.flag({"--strict", "", "warnings about the model are errors"}, spec.strict);
  options.flag({"--fail-on-nan", "", "a NaN in a result is an error"}, spec.fail_on_nan);
  options.flag({"--beyond-context", "", "allow prompts longer than the trained context"},
               spec.beyond_context);
}

// What --spec reads must not be lost to what the capture writes.
void check_spec_file_is_kept(const std::string& spec_file, const std::string& out) {
  if (out.empty()) return;
  for (const std::string& written : {out, sidecar_path(out)}) {
    check_output_is_no_input(written, {spec_file});
  }
}

}  // namespace

int run_capture(const Command& command, const CommandLine& line) {
  CaptureSpec spec;
  std::string spec_file;
  Verb verb(command);
  Options& options = verb.options();
  options.group("Model");
  options.value({"--spec", "FILE",
                 "options from a JSON file, by their long names with _ for -; options given here "
                 "come after it"},
                [&](const std::string& text, const std::string&) {
                  spec = load_spec_file<CaptureSpec>(text);
                  spec_file = text;
                });
  add_model_option(options, "required", spec.model);
  add_prompt_options(verb, spec.prompts);
  add_encoding_options(options, spec.encoding);
  add_what_options(verb, spec);
  add_compute_options(options, spec.compute);
  add_output_options(options, spec);
  add_rule_options(options, spec);
  if (!verb.parse(line)) return 0;
  options.exclusive("--force", "--resume");
  validate(spec);
  check_spec_file_is_kept(spec_file, spec.output.out);
  exec_runner({.spec = spec, .command_line = line.all});
}

}  // namespace attnscope::cli
