// attnscope verdict: options → VerdictSpec → attnscope-run.
#include "experiment_options.h"
#include "shared_options.h"
#include "spec_verb.h"

namespace attnscope::cli {
namespace {

void add_what_options(Options& options, VerdictSpec& spec) {
  options.group("What to judge");
  options.text(
      {"--method", "LIST",
       "at least two of zero, mean, mean-pos, resample, see below: a head counts as causal "
       "if two agree"},
      spec.methods);
  options.number({"--delta", "X",
                  "smallest effect of interest (default: 2 % of the mean difference between clean "
                  "and corrupt, else 2 % of the mean metric)"},
                 {0, 1e300}, spec.delta);
  options.text({"--layers", "LIST", "layers, as in 0-3,7 (default: all)"}, spec.layers);
  options.text({"--source", "NAME",
                "column that holds the words which the answer is taken from (default: source)"},
               spec.sources);
  options.flag(
      {"--kv-groups", "", "verdicts on key-value heads too, each with all heads that read it"},
      spec.kv_groups);
  options.flag({"--control-model", "", "also the same on a model with random weights"},
               spec.control_model);
  options.integer({"--controls", "N",
                   "random changes, as large as the one that removing it makes, that each causal "
                   "head is compared with"},
                  {20, 1'000'000}, spec.random_draws);
  options.integer({"--matched-sets", "N",
                   "random sets of heads, of the same layers and alike in what attention shows, "
                   "that the five strongest are compared with; 0 = none"},
                  {0, 100'000}, spec.matched_sets);
}

}  // namespace

int run_verdict(const Command& command, const CommandLine& line) {
  return run_spec_verb<VerdictSpec>(command, line, [](Verb& verb, VerdictSpec& spec) {
    Options& options = verb.options();
    add_model_option(options, "required", spec.model);
    add_pair_file_options(verb, spec.pairs);
    add_encoding_options(options, spec.encoding);
    add_metric_options(verb, spec.metric);
    add_what_options(options, spec);
    add_positions_note(verb, "pairs");
    add_compute_options(options, spec.compute);
    add_sweep_options(options, spec.sweep);
    add_experiment_output_options(options, spec.output);
    options.text({"--html", "FILE",
                  "the report as one page for a browser (default: the name of -o with .html)"},
                 spec.html);
    add_per_prompt_option(options, spec.sweep);
    options.group("Strictness");
    add_rule_options(options, spec.strict, spec.fail_on_nan);
    verb.note(
        "Methods: what the output of a head becomes",
        "zero         nothing at all\n"
        "mean         its mean over all tokens of the corrupt prompts, else of the clean ones\n"
        "mean-pos     its mean at the same position; prompts of equal length only\n"
        "resample     its value in the corrupt prompt, else in a prompt of another group");
    verb.note(
        "Verdicts",
        "causal         the 95 % interval over all heads lies beyond +-delta, with one sign,\n"
        "               under at least two methods\n"
        "no effect      total and direct effect, and the effect beside the loss of any of\n"
        "               the five strongest heads, are shown to lie within +-delta\n"
        "undetermined   neither; the smallest effect that could have been seen is given\n"
        "One half of the groups chooses (means, delta, the strongest heads), the other is "
        "measured.\n"
        "Of fewer than 20 groups, or when a control fails, there are effects but no verdicts.");
  });
}

}  // namespace attnscope::cli
