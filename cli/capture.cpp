// attnscope capture: options → CaptureSpec → attnscope-run.
#include "command.h"
#include "shared_options.h"
#include "spec_verb.h"

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
  options.flag(
      {"--stats-only", "",
       "head statistics only, no maps and no activations; with --layers of those layers, and the "
       "run ends after the last"},
      spec.stats_only);
  options.choice({"--map-dtype", "",
                  "how maps are stored: float32 rounded to 10 mantissa bits, half, float32"},
                 spec.map_format);
  options.integer({"--topk", "N", "strongest keys kept for each query"}, {1, kMaxTopK}, spec.top_k);
  options.choice({"--layout", "",
                  "one group a prompt, or all prompts packed in common datasets (default: auto, "
                  "packed above 64 prompts)"},
                 spec.layout);
  add_positions_note(verb, "prompt");
}

void add_output_options(Options& options, CaptureSpec& spec) {
  options.group("Output");
  add_result_option(options,
                    "file to write (required); FILE.json beside it gets its hash, the time and the "
                    "command line",
                    spec.output.out);
  add_long_run_options(options, spec.output);
  add_shard_option(options, "prompts", spec.shard);
}

}  // namespace

int run_capture(const Command& command, const CommandLine& line) {
  return run_spec_verb<CaptureSpec>(command, line, [](Verb& verb, CaptureSpec& spec) {
    Options& options = verb.options();
    add_model_option(options, "required", spec.model);
    add_prompt_options(verb, spec.prompts);
    add_encoding_options(options, spec.encoding);
    add_what_options(verb, spec);
    add_compute_options(options, spec.compute);
    options.integer(
        {"--batch", "N", "most prompts in a batch (default: as many as make 2048 tokens)"},
        {1, kMaxBatch}, spec.compute.batch);
    add_output_options(options, spec);
    options.group("Strictness");
    add_rule_options(options, spec.strict, spec.fail_on_nan);
    options.flag({"--beyond-context", "", "allow prompts longer than the trained context"},
                 spec.beyond_context);
  });
}

}  // namespace attnscope::cli
