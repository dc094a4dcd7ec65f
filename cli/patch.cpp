// attnscope patch: options → PatchSpec → attnscope-run.
#include "experiment_options.h"
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
  options.choice(
      {"--direction", "",
       "denoise: the corrupt prompt runs, values of the clean run are put in; noise: the "
       "other way round"},
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
  verb.note(
      "Effects and recovery",
      "denoise       effect = metric after - metric of the corrupt run: is this enough?\n"
      "noise         effect = metric after - metric of the clean run: is this needed?\n"
      "paths, edges  effect = metric after - metric of the clean run\n"
      "recovery      (metric after - corrupt) / (clean - corrupt): 0 is the corrupt run, 1 the\n"
      "              clean one, whichever ran; a cut that changes nothing has recovery 1");
}

}  // namespace

int run_patch(const Command& command, const CommandLine& line) {
  return run_spec_verb<PatchSpec>(command, line, [](Verb& verb, PatchSpec& spec) {
    add_sweep_verb_options(verb, spec, add_what_options);
  });
}

}  // namespace attnscope::cli
