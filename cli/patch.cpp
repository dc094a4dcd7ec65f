// attnscope patch: options → PatchSpec → attnscope-run.
#include "experiment_options.h"
#include "shared_options.h"
#include "spec_verb.h"

namespace attnscope::cli {
namespace {

void add_what_options(Verb& verb, PatchSpec& spec) {
  Options& options = verb.options();
  options.group("What to patch");
  options.text(
      {"--site", "LIST",
       "resid_pre, resid_mid, resid_post, attn_out, mlp_out, q, k, v, z, pattern (default: "
       "resid_pre)"},
      spec.sites);
  options.text({"--by", "LIST", "layer,pos or layer,head or layer,head,pos (default: by the site)"},
               spec.by);
  options.choice({"--direction", "",
                  "denoise: run corrupt and put clean values in; noise: the other way round"},
                 spec.direction);
  options.text({"--layers", "LIST", "layers, as in 0-3,7 (default: all)"}, spec.layers);
  options.text({"--heads", "LIST", "heads, as in 5.1,6.* (default: all)"}, spec.heads);
  options.text({"--positions", "LIST", "positions, see below (default: all)"}, spec.positions);
  options.number({"--floor", "X",
                  "prompts whose metric differs less than this between clean and corrupt are left "
                  "out of the recovery, and counted"},
                 {0, 1e300}, spec.floor);
  options.group("Paths (instead of --site)");
  options.text({"--senders", "LIST",
                "units whose values come from the corrupt run, as in 9.9,9.6 (default: none)"},
               spec.senders);
  options.text({"--receivers", "LIST",
                "what reads them, as in 10.7.q,10.7.k,mlp:11, or logits alone (default: none)"},
               spec.receivers);
  options.flag({"--freeze-mlps", "", "MLPs between sender and receiver keep their values"},
               spec.freeze_mlps);
  options.group("Edges of attention (instead of --site)");
  options.text({"--edge", "LIST",
                "knockout: no attention along the edge; value-zero: what is read along it is zero "
                "(default: none)"},
               spec.edges);
  options.text({"--queries", "LIST", "positions that read, see below (default: none)"},
               spec.queries);
  options.text({"--keys", "LIST", "positions that are read (default: none)"}, spec.keys);
  options.integer({"--window", "N", "layers that are cut together, around each layer"},
                  {1, 1 << 20}, spec.window);
}

}  // namespace

int run_patch(const Command& command, const CommandLine& line) {
  return run_spec_verb<PatchSpec>(command, line, [](Verb& verb, PatchSpec& spec) {
    Options& options = verb.options();
    add_model_option(options, "required", spec.model);
    add_pair_options(verb, spec.pairs);
    add_encoding_options(options, spec.encoding);
    add_metric_options(verb, spec.metric);
    add_what_options(verb, spec);
    add_units_note(verb);
    add_positions_note(verb, "pairs");
    add_compute_options(options, spec.compute);
    add_sweep_options(options, spec.sweep);
    add_experiment_output_options(options, spec.output);
    options.flag({"--per-prompt", "", "also store the effect on each prompt"},
                 spec.sweep.per_prompt);
    add_shard_option(options, "cells", spec.shard);
    options.group("Strictness");
    add_rule_options(options, spec.strict, spec.fail_on_nan);
  });
}

}  // namespace attnscope::cli
