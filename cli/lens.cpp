// attnscope lens: options → LensSpec → attnscope-run.
#include "experiment_options.h"
#include "spec_verb.h"

namespace attnscope::cli {
namespace {

constexpr std::int64_t kMaxTopK = 1024;

}  // namespace

int run_lens(const Command& command, const CommandLine& line) {
  return run_spec_verb<LensSpec>(command, line, [](Verb& verb, LensSpec& spec) {
    Options& options = verb.options();
    add_model_option(options, "required", spec.model);
    add_clean_pair_options(verb, spec.pairs);
    add_encoding_options(options, spec.encoding);
    options.group("What to show");
    options.text({"--positions", "LIST",
                  "positions to read, see below (default: last): attribution is split by source at "
                  "each, the last of them is shown and counted in means"},
                 spec.positions);
    options.integer({"--topk", "N", "likeliest tokens kept for each layer and position"},
                    {1, kMaxTopK}, spec.top_k);
    options.off_flag({"--no-attribution", "", "the lens alone, without direct attribution"},
                     spec.attribution);
    add_positions_note(verb, "pairs");
    add_compute_options(options, spec.compute);
    add_experiment_output_options(options, spec.output);
    options.group("Strictness");
    add_rule_options(options, spec.strict, spec.fail_on_nan);
  });
}

}  // namespace attnscope::cli
