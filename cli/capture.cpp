// attnscope capture: options → CaptureSpec → attnscope-run.
#include "command.h"
#include "launch.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

constexpr std::int64_t kMaxBatch = 65536;
constexpr std::int64_t kMaxTopK = 1024;

void add_what_options(Options& options, CaptureSpec& spec) {
  options.group("What to record");
  options.text({"--hooks", "LIST", "sites by name or glob: pattern,z,blocks.*.hook_resid_post"},
               spec.hooks);
  options.text({"--layers", "LIST", "layers, as in 0-3,7 (default: all)"}, spec.layers);
  options.text({"--heads", "LIST", "heads, as in 5.1,6.* (default: all)"}, spec.heads);
  options.text({"--positions", "LIST", "query positions, as in 3,5-7,-1,last,\"Mary\""},
               spec.positions);
  options.flag({"--stats-only", "", "head statistics only, no maps and no activations"},
               spec.stats_only);
  options.choice({"--map-dtype", "", "how maps are stored: 10 mantissa bits, half, float"},
                 spec.map_format);
  options.integer({"--topk", "N", "strongest keys kept for each query (default 8)"}, {1, kMaxTopK},
                  spec.top_k);
  options.choice({"--layout", "", "one group a prompt, or all prompts packed"}, spec.layout);
}

void add_compute_options(Options& options, ComputeOptions& compute) {
  options.group("How to compute");
  add_device_option(options, compute.device);
  options.choice({"--dtype", "", "what to compute in"}, compute.dtype);
  options.choice({"--engine", "", "which code computes attention"}, compute.engine);
  add_threads_option(options, compute.threads);
  options.integer({"--seed", "N", "seed of whatever is random"},
                  {0, std::numeric_limits<std::int64_t>::max()}, compute.seed);
  options.integer({"--batch", "N", "most prompts in a batch (default: by their tokens)"},
                  {1, kMaxBatch}, compute.batch);
  options.value({"--budget", "BYTES", "refuse to use more memory or disk, as in 4GiB"},
                [&compute](const std::string& text, const std::string& option) {
                  compute.budget = parse_bytes(text, option);
                });
}

void add_output_options(Options& options, CaptureSpec& spec) {
  options.group("Output");
  add_out_option(options, "file to write: FILE.h5, and FILE.json beside it", spec.output.out);
  add_force_option(options, spec.output.force);
  options.flag({"--resume", "", "go on with an interrupted run of the same options"},
               spec.output.resume);
  options.value(
      {"--shard", "I/N", "do part I of N of the prompts"},
      [&spec](const std::string& text, const std::string&) { spec.shard = parse_shard(text); });
  options.flag({"--dry-run", "", "print the plan and its estimates, then stop"},
               spec.output.dry_run);
  add_json_option(options, spec.output.json);
  options.flag({"--quiet", "", "no progress and no summary"}, spec.output.quiet);
}

void add_rule_options(Options& options, CaptureSpec& spec) {
  options.group("Strictness");
  options.flag({"--strict", "", "warnings about the model are errors"}, spec.strict);
  options.flag({"--fail-on-nan", "", "a NaN in a result is an error"}, spec.fail_on_nan);
  options.flag({"--beyond-context", "", "allow prompts longer than the trained context"},
               spec.beyond_context);
}

}  // namespace

int run_capture(const Command& command, const CommandLine& line) {
  CaptureSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.group("Model");
  options.value({"--spec", "FILE", "options from a JSON file; options given here come after it"},
                [&spec](const std::string& text, const std::string&) {
                  spec = load_spec_file<CaptureSpec>(text);
                });
  add_model_option(options, spec.model);
  add_prompt_options(options, spec.prompts);
  add_encoding_options(options, spec.encoding);
  add_what_options(options, spec);
  add_compute_options(options, spec.compute);
  add_output_options(options, spec);
  add_rule_options(options, spec);
  if (!verb.parse(line)) return 0;
  options.exclusive("--force", "--resume");
  validate(spec);
  exec_runner({.spec = spec, .command_line = line.all});
}

}  // namespace attnscope::cli
